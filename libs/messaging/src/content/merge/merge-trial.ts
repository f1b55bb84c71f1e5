import {
  Context,
  type Emitter,
  type Liquid,
  LiquidError,
  Output,
  ParseError,
  Parser,
  type Template,
  TokenKind,
  type TopLevelToken,
} from 'liquidjs';
import { asMergeTemplateError } from './merge-tags.js';

type OutputToken = ConstructorParameters<typeof Output>[0];
type PropertyPath = Parameters<Context['_getFromScope']>[1];

/** Result of filling in a part of a mail whose reader is not known. */
export interface PartTrial {
  /** Null where it cannot be filled in. */
  readonly text: string | null;
  /** Reason why it cannot be filled in, whoever reads it; null: none, or one that its reader's values may have a part in. */
  readonly fault: string | null;
}

/** Fills in a template with the values of nobody, beside those that are known. */
export function tryOut(engine: Liquid, templates: Template[], values: object): PartTrial {
  const context = new TrialContext(values, engine);
  try {
    return { text: String(engine.renderSync(templates, context)), fault: null };
  } catch (error) {
    const { message } = asMergeTemplateError(error);
    return { text: null, fault: context.dependsOnReader ? null : message };
  }
}

/** Values of a mail's reader, who is not known before it is sent but for the address. */
const isOfReader = ([root, name]: readonly unknown[]): boolean =>
  root === 'custom' || (root === 'subscriber' && name !== 'email');

/** Values of a template that is filled in to see whether it can be. */
class TrialContext extends Context {
  #decidedByReader = false;
  #shownOfReader = false;
  #isShowing = false;

  constructor(values: object, engine: Liquid) {
    super(values, engine.options, { sync: true }, { liquid: engine });
  }

  /** True where values of the reader, who is nobody here, have had a part in what is being filled in. */
  get dependsOnReader(): boolean {
    return this.#decidedByReader || this.#shownOfReader;
  }

  /** Runs the rendering of an output. */
  *showing(output: Iterable<unknown>): Generator<unknown, void, unknown> {
    this.#isShowing = true;
    this.#shownOfReader = false;
    yield* output;
    this.#shownOfReader = false;
    this.#isShowing = false;
  }

  override *_getFromScope(
    scope: unknown,
    path: PropertyPath,
    strictVariables?: boolean,
  ): IterableIterator<unknown> {
    if (scope === this.environments && Array.isArray(path) && isOfReader(path)) {
      if (this.#isShowing) this.#shownOfReader = true;
      else this.#decidedByReader = true;
    }
    return yield super._getFromScope(scope, path, strictVariables);
  }
}

/** Parser whose outputs tell a trial that values are shown. */
export class TrialParser extends Parser {
  readonly #engine: Liquid;

  constructor(engine: Liquid) {
    super(engine);
    this.#engine = engine;
  }

  override parseToken(token: TopLevelToken, rest: TopLevelToken[]): ReturnType<Parser['parseToken']> {
    if (token.kind !== TokenKind.Output) return super.parseToken(token, rest);
    try {
      return new TrialOutput(token as OutputToken, this.#engine);
    } catch (error) {
      throw LiquidError.is(error) ? error : new ParseError(error as Error, token);
    }
  }
}

class TrialOutput extends Output {
  override *render(context: Context, emitter: Emitter): IterableIterator<unknown> {
    const rendering = super.render(context, emitter);
    if (context instanceof TrialContext) yield* context.showing(rendering);
    else yield* rendering;
  }
}
