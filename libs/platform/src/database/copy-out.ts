import { Readable } from 'node:stream';
import type pg from 'pg';

/**
 * The data of one `COPY … TO STDOUT` in PostgreSQL's protocol (its manual, §54.2.6 "COPY Operations"), as fast as it is read.
 * pg calls these methods as the server's messages arrive. Who does not read it to its end closes the connection.
 */
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

  /** pg writes later messages over what it gives here. */
  handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    if (!this.push(Buffer.from(chunk))) this.#connection?.stream.pause();
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.rows = Number(text.replace('COPY ', ''));
  }

  handleError(error: Error): void {
    this.destroy(error);
  }

  /** Nobody asks for more after the end: the connection goes on by itself. */
  handleReadyForQuery(): void {
    this.#connection?.stream.resume();
    this.push(null);
  }
}

/** Asks for the data of `statement`. */
export function copyOut(client: pg.ClientBase, statement: string): CopyOut {
  return client.query(new CopyOut(statement));
}
