import { type RawBuilder, sql } from 'kysely';
import { named } from './statement.js';

/** Most sets of questions, each a statement to prepare: others are asked one by one. */
const MAX_SETS = 50;

export interface Question {
  /** The compiled condition, which tells questions apart. */
  readonly text: string;
  readonly condition: RawBuilder<unknown>;
}

interface WaitingQuestion extends Question {
  readonly waiting: PromiseWithResolvers<boolean>;
}

type Ask = (statement: RawBuilder<Answers>) => Promise<readonly Answers[]>;
type Answers = Readonly<Record<string, boolean | null>>;

/** Asks conditions of the same moment in one statement. */
export class AskedTogether {
  #questions = new Map<string, WaitingQuestion>();
  readonly #sets = new Set<string>();

  constructor(private readonly ask: Ask) {}

  holds(question: Question): Promise<boolean> {
    const waiting = Promise.withResolvers<boolean>();
    const asked = { ...question, waiting };
    // The same question with other values waits for nobody: it is asked by itself.
    if (this.#questions.has(question.text)) void this.#askFor([asked]);
    else {
      if (this.#questions.size === 0) setImmediate(() => this.#askAll());
      this.#questions.set(question.text, asked);
    }
    return waiting.promise;
  }

  #askAll(): void {
    // In one order, so that the same questions are the same statement.
    const questions = [...this.#questions.values()].toSorted((a, b) => (a.text < b.text ? -1 : 1));
    this.#questions = new Map();
    const set = questions.map(({ text }) => text).join();
    if (this.#sets.size < MAX_SETS) this.#sets.add(set);
    if (this.#sets.has(set)) void this.#askFor(questions);
    else for (const question of questions) void this.#askFor([question]);
  }

  async #askFor(questions: readonly WaitingQuestion[]): Promise<void> {
    const columns = questions.map(({ condition }, index) => sql`${condition} as ${sql.id(`q${index}`)}`);
    try {
      const [answers] = await this.ask(sql`${named('conditions')} select ${sql.join(columns)}`);
      for (const [index, { waiting }] of questions.entries())
        waiting.resolve(answers?.[`q${index}`] === true);
    } catch (error) {
      for (const { waiting } of questions) waiting.reject(error);
    }
  }
}
