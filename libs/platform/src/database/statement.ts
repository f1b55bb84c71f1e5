import { type Compilable, type CompiledQuery, type Kysely, type RawBuilder, sql } from 'kysely';

/** A compiled query, with the name that stands in front of it. */
export interface Statement<Row = unknown> extends CompiledQuery<Row> {
  readonly name?: string | undefined;
}

/** Value in a template that the compiler takes for the statement's name. */
export class StatementName {
  constructor(readonly name: string) {}
}

/**
 * Names a statement, in front of its template or behind the first word of a builder (`.modifyFront(named('…'))`): each connection
 * parses it once and plans it once for a while, for any values. PostgreSQL's log and pg_stat_activity show the name.
 */
export function named(name: string): RawBuilder<unknown> {
  return sql`${new StatementName(name)}`;
}

/** Most texts of a pool: later ones are not prepared. */
const MAX_STATEMENTS = 100;

/** The server's names of statements, on all connections of a pool: one that has several texts gets numbers. */
export class StatementNames {
  readonly #byText = new Map<string, string>();
  readonly #texts = new Map<string, number>();

  /** Undefined for a text that is one too many. */
  of(name: string, text: string): string | undefined {
    if (!this.#byText.has(text) && this.#byText.size < MAX_STATEMENTS) {
      const number = (this.#texts.get(name) ?? 0) + 1;
      this.#texts.set(name, number);
      this.#byText.set(text, number === 1 ? name : `${name}_${number}`);
    }
    return this.#byText.get(text);
  }
}

/**
 * A typed, `named` query whose text is built once: a builder takes longer to make it than PostgreSQL to answer it. `build` gets
 * stand-ins for the values and hands them on as they are.
 */
export class PreparedQuery<DB, Values extends readonly unknown[], Row> {
  #compiled: Statement<Row> | undefined;
  #standIns: readonly object[] = [];

  constructor(
    private readonly name: string,
    private readonly build: (tables: Kysely<DB>, ...values: Values) => Compilable<Row>,
  ) {}

  async run(tables: Kysely<DB>, ...values: Values): Promise<readonly Row[]> {
    this.#compiled ??= this.#compile(tables, values.length);
    const parameters = this.#compiled.parameters.map((parameter) => {
      const position = this.#standIns.indexOf(parameter as object);
      return position === -1 ? parameter : values[position];
    });
    const { rows } = await tables.executeQuery<Row>({ ...this.#compiled, parameters });
    return rows;
  }

  #compile(tables: Kysely<DB>, length: number): Statement<Row> {
    this.#standIns = Array.from({ length }, () => ({}));
    const compiled = this.build(tables, ...(this.#standIns as unknown as Values)).compile();
    return { ...compiled, name: this.name, sql: `/* ${this.name} */ ${compiled.sql}` };
  }
}
