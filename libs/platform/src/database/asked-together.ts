import { createHash } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';

/** A connection keeps a plan of each set of questions: what would make more than these is asked one by one. */
const MAX_SETS = 50;

interface Question {
  readonly condition: RawBuilder<unknown>;
  readonly waiting: PromiseWithResolvers<boolean>;
}

type Ask = (name: string, statement: RawBuilder<Answers>) => Promise<readonly Answers[]>;
type Answers = Readonly<Record<string, boolean | null>>;

/** Puts what is asked at the same moment into one statement. Each name stands for the text of its condition. */
export class AskedTogether {
  #questions = new Map<string, Question>();
  readonly #sets = new Set<string>();

  constructor(private readonly ask: Ask) {}

  holds(name: string, condition: RawBuilder<unknown>): Promise<boolean> {
    // The same question with other values waits for nobody: it is asked by itself.
    if (this.#questions.has(name)) return this.#only(name, condition);
    const waiting = Promise.withResolvers<boolean>();
    if (this.#questions.size === 0) setImmediate(() => this.#askAll());
    this.#questions.set(name, { condition, waiting });
    return waiting.promise;
  }

  async #only(name: string, condition: RawBuilder<unknown>): Promise<boolean> {
    const [answers] = await this.ask(name, selectOf([[name, { condition }]]));
    return answers?.[name] === true;
  }

  #askAll(): void {
    // In one order, so that the same questions are the same statement.
    const questions = [...this.#questions].toSorted(([a], [b]) => (a < b ? -1 : 1));
    this.#questions = new Map();
    const set = nameOf(questions.map(([name]) => name));
    if (this.#sets.size < MAX_SETS) this.#sets.add(set);
    if (questions.length > 1 && this.#sets.has(set)) void this.#askSet(set, questions);
    else
      for (const [name, { condition, waiting }] of questions)
        this.#only(name, condition).then(waiting.resolve, waiting.reject);
  }

  async #askSet(set: string, questions: readonly (readonly [string, Question])[]): Promise<void> {
    try {
      const [answers] = await this.ask(set, selectOf(questions));
      for (const [name, { waiting }] of questions) waiting.resolve(answers?.[name] === true);
    } catch (error) {
      for (const [, { waiting }] of questions) waiting.reject(error);
    }
  }
}

/** PostgreSQL tells names of statements apart by 63 bytes. */
function nameOf(names: readonly string[]): string {
  return `asked.${createHash('sha256').update(names.join()).digest('base64url')}`;
}

function selectOf(
  questions: readonly (readonly [string, Pick<Question, 'condition'>])[],
): RawBuilder<Answers> {
  return sql`select ${sql.join(questions.map(([name, { condition }]) => sql`${condition} as ${sql.id(name)}`))}`;
}
