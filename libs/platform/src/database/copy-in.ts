import type pg from 'pg';

/** What pg's connection can do beside queries; its types leave it out. */
interface CopyConnection {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

/**
 * One `COPY … FROM STDIN` in PostgreSQL's protocol (its manual, §54.2.6 "COPY Operations"), with all of its data
 * at hand. pg calls these methods as the server's messages arrive.
 */
class CopyIn implements pg.Submittable {
  readonly #ended = Promise.withResolvers<void>();
  #error: Error | undefined;

  constructor(
    private readonly statement: string,
    private readonly data: Buffer,
  ) {}

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  submit(connection: pg.Connection): void {
    connection.query(this.statement);
  }

  handleCopyInResponse(connection: CopyConnection): void {
    connection.sendCopyFromChunk(this.data);
    connection.endCopyFrom();
  }

  handleCommandComplete(): void {}

  /** The server's refusal, or the end of the connection, after which it is not ready again. */
  handleError(error: Error): void {
    this.#error = error;
    this.#ended.reject(error);
  }

  handleReadyForQuery(): void {
    if (this.#error === undefined) this.#ended.resolve();
  }
}

/** Sends `data`, in the format that `statement` names, and resolves when the server has taken it. */
export function copyIn(client: pg.ClientBase, statement: string, data: Buffer): Promise<void> {
  return client.query(new CopyIn(statement, data)).ended;
}
