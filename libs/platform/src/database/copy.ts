import { Readable } from 'node:stream';
import type pg from 'pg';

/** Methods of pg's connection that its types leave out. */
interface CopyConnection {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

/**
 * One `COPY … FROM STDIN` (PostgreSQL's manual, §54.2.6 "COPY Operations") with all of its data at hand. pg calls
 * these methods as the server's messages arrive.
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

/** Data of one `COPY … TO STDOUT`, as fast as it is read. A reader that stops before its end closes the connection. */
class CopyOut extends Readable implements pg.Submittable {
  #connection: pg.Connection | undefined;
  /** Known once it has ended. */
  rows = 0;

  constructor(private readonly statement: string) {
    super();
  }

  submit(connection: pg.Connection): void {
    this.#connection = connection;
    connection.query(this.statement);
  }

  override _read(): void {
    this.#connection?.stream.resume();
  }

  /** Copies the chunk, which pg overwrites with later messages. */
  handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    if (!this.push(Buffer.from(chunk))) this.#connection?.stream.pause();
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.rows = Number(text.replace('COPY ', ''));
  }

  handleError(error: Error): void {
    this.destroy(error);
  }

  /** Resumes the connection, since nobody asks for more after the end. */
  handleReadyForQuery(): void {
    this.#connection?.stream.resume();
    this.push(null);
  }
}

/** Asks for the data of `statement`. */
export function copyOut(client: pg.ClientBase, statement: string): CopyOut {
  return client.query(new CopyOut(statement));
}
