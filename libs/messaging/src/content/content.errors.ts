/** A merge template that cannot be parsed, or that exceeds its bounds when it is filled in. */
export class MergeTemplateError extends Error {
  override readonly name = 'MergeTemplateError';

  /** @param line 1-based line of the fault in the template's source, when it is known */
  constructor(
    message: string,
    readonly line?: number,
  ) {
    super(message);
  }
}

/** Content that cannot be made into a mail. */
export class ContentCompileError extends Error {
  override readonly name = 'ContentCompileError';
}

/** Content that was stopped because it took more than any honest content does. */
export class ContentTooComplexError extends ContentCompileError {
  constructor() {
    super('it is too complex');
  }
}

/** Error of a task, as it crosses from one process to another. */
export interface TaskFault {
  readonly kind: 'merge-tags' | 'content' | 'too-complex' | 'unforeseen';
  readonly message: string;
  readonly line?: number | undefined;
}

export const TOO_COMPLEX: TaskFault = { kind: 'too-complex', message: '' };

export function faultOf(error: unknown): TaskFault {
  if (error instanceof MergeTemplateError)
    return { kind: 'merge-tags', message: error.message, line: error.line };
  if (error instanceof ContentCompileError) return { kind: 'content', message: error.message };
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { kind: 'unforeseen', message };
}

export function errorOf({ kind, message, line }: TaskFault): Error {
  if (kind === 'merge-tags') return new MergeTemplateError(message, line);
  if (kind === 'content') return new ContentCompileError(message);
  return kind === 'too-complex' ? new ContentTooComplexError() : new Error(message);
}

/** Pieces that a fault names; all are counted. */
const SHOWN_PIECES = 3;

/** The fault of content that loses these pieces; null where there are none. */
export function lossesIn(removed: readonly string[]): string | null {
  if (removed.length === 0) return null;
  const more = removed.length - SHOWN_PIECES;
  const pieces = removed.slice(0, SHOWN_PIECES).join(', ') + (more > 0 ? ` and ${more} more` : '');
  return `has what no mail can carry: ${pieces}`;
}
