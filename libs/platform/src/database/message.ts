import pg from 'pg';

/** A statement as pg takes it; one with a name is parsed once by the connection. */
export type AskedStatement = pg.QueryConfig;

/** Members of pg's connection that its types leave out. */
interface Wire extends pg.Connection {
  /** Texts of named statements whose parsing was asked for and not answered yet. */
  readonly submittedNamedStatements: Record<string, string>;
  sync(): void;
  execute(portal: { readonly portal: string }): void;
}

/** One statement of a message: as pg's, without a Sync of its own. Its members are pg's, too. */
class Part extends pg.Query {
  declare readonly name?: string;
  declare readonly text: string;
  declare readonly _result: { _types: pg.CustomTypesConfig };
  declare readonly prepare: (connection: pg.Connection) => void;
  declare readonly handleRowDescription: (message: unknown) => void;
  declare readonly handleDataRow: (message: unknown) => void;
  declare readonly handleCommandComplete: (message: unknown, connection: pg.Connection) => void;
  declare readonly handleReadyForQuery: (connection: pg.Connection) => void;

  /** Called by `prepare` at its end. */
  _getRows(connection: Wire): void {
    connection.execute({ portal: '' });
  }
}

/**
 * Statements in one message, with one Sync (PostgreSQL's manual, "Pipelining"): the server runs one after the other, and none
 * behind one that fails. pg calls the methods as the server's messages arrive.
 */
export class Message implements pg.Submittable {
  readonly #answer = Promise.withResolvers<readonly pg.QueryResult[]>();
  readonly #results: pg.QueryResult[] = [];
  readonly #parts: readonly Part[];
  #answered = 0;
  #error: Error | undefined;

  constructor(statements: readonly AskedStatement[], types: pg.CustomTypesConfig) {
    this.#parts = statements.map(({ text, values, name }) => {
      const query = { text, values, ...(name !== undefined && { name }) };
      const part = new Part(query, (error: Error | null | undefined, result) => {
        if (error) this.#fail(error);
        else this.#results.push(result);
      });
      part._result._types = types;
      return part;
    });
  }

  /** Results in the order of the statements. Rejects with the error of the one that failed. */
  get results(): Promise<readonly pg.QueryResult[]> {
    return this.#answer.promise;
  }

  /** Name and text of the statement that the server is at, which pg notes as parsed. */
  get name(): string | undefined {
    return this.#current?.name;
  }

  get text(): string | undefined {
    return this.#current?.text;
  }

  submit(connection: pg.Connection): void {
    connection.stream.cork();
    try {
      for (const part of this.#parts) part.prepare(connection);
      (connection as Wire).sync();
    } finally {
      connection.stream.uncork();
    }
    // A value that cannot be written made pg end its part by a Sync, whose answer would be taken for that of the next message.
    if (this.#error !== undefined) connection.stream.destroy();
  }

  handleRowDescription(message: unknown): void {
    this.#current?.handleRowDescription(message);
  }

  handleDataRow(message: unknown): void {
    this.#current?.handleDataRow(message);
  }

  handleCommandComplete(message: unknown, connection: pg.Connection): void {
    this.#current?.handleCommandComplete(message, connection);
    this.#answered += 1;
  }

  /** The server's refusal, or the end of the connection. What stands behind was not parsed. */
  handleError(error: Error, connection?: pg.Connection): void {
    for (const { name = '' } of this.#parts.slice(this.#answered))
      delete (connection as Wire | undefined)?.submittedNamedStatements[name];
    this.#fail(error);
  }

  handleReadyForQuery(connection: pg.Connection): void {
    for (const part of this.#parts) part.handleReadyForQuery(connection);
    this.#answer.resolve(this.#results);
  }

  #fail(error: Error): void {
    this.#error = error;
    this.#answer.reject(error);
  }

  get #current(): Part | undefined {
    return this.#parts[this.#answered];
  }
}
