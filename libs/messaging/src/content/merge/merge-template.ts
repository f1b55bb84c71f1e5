import { compileWithEngine, type EngineTemplate } from './merge-engine.js';
import type { MergeEscaping } from './merge-output.js';
import { compileSlots, type SlotTemplate } from './merge-slots.js';
import { asMergeTemplateError, templatePieces } from './merge-tags.js';
import type { MergeValues } from './merge-values.js';

export type { MergeEscaping } from './merge-output.js';
export { MergeTemplateError } from './merge-template.errors.js';
export { type MergeValues, unknownVariables } from './merge-values.js';

/** A subject, HTML or text part that is filled in once per recipient. */
export interface MergeTemplate {
  /** Dotted names of the values it uses; its own loop variables and assigns are not among them. */
  readonly variables: readonly string[];
  /**
   * Fills in the values; they are never parsed as template.
   * @throws {MergeTemplateError} when a loop or a filter exceeds its bounds
   */
  render(values: MergeValues): string;
  /** Present when the template holds only plain tags: its fixed texts and what goes between them. */
  readonly slots?: Pick<SlotTemplate, 'texts' | 'fill'>;
}

/**
 * Compiles a Liquid template. Plain tags (`{{ subscriber.first_name | default: "there" }}`) become a slot list;
 * anything else is parsed by Liquid, with own properties only and bounds on parsing, loops and memory.
 * In HTML an output tag that begins a link becomes `#` unless its value is an http, https, mailto, tel, sms or whatsapp URL.
 * @param escaping `html` escapes values for HTML, `header` removes control characters, `none` does nothing
 * @throws {MergeTemplateError} with the line of the fault, when the template cannot be parsed
 */
export function compileMergeTemplate(source: string, escaping: MergeEscaping): MergeTemplate {
  const plain = compilePlainTemplate(source, escaping);
  return plain ?? guarded(() => bounded(compileWithEngine(templatePieces(source), escaping)));
}

/** The template where it holds only plain tags; null where it takes Liquid. */
export function compilePlainTemplate(source: string, escaping: MergeEscaping): MergeTemplate | null {
  const slots = compileSlots(templatePieces(source), escaping);
  return slots && { variables: slots.variables, render: (values) => slots.render(values), slots };
}

function bounded(template: EngineTemplate): MergeTemplate {
  return {
    variables: template.variables,
    render: (values) => guarded(() => template.render(values)),
  };
}

function guarded<Result>(task: () => Result): Result {
  try {
    return task();
  } catch (error) {
    throw asMergeTemplateError(error);
  }
}
