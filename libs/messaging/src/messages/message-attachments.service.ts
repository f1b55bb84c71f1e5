import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database, decryptOctets, encrypt } from '#platform';
import {
  type Attachment,
  encodeAttachments,
  type EncodedAttachment,
} from '../content/mail/attachment-part.js';
import type { AttachedFile } from './message.js';
import { MessageSealsService } from './message-seals.service.js';

/** Octets of a row: some lines of base64, which encoding goes by. */
const PART = 57 * 8_192;

/** Octets of a file from one row, and their place in the message. */
interface Part {
  readonly position: number;
  readonly part: number;
  readonly octets: Buffer;
}

/**
 * Keeps the files of messages until their mails have ended. Each message has a key of its own, so that a change of the master key
 * seals that anew, and not the files.
 */
@Injectable()
export class MessageAttachmentsService {
  /** The end of the encoding that runs: messages take turns, so that their parts do not add up. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly database: Database,
    private readonly seals: MessageSealsService,
  ) {}

  /** Writes files in the open transaction, some parts at a time. Resolves to their key, sealed. */
  async write(
    scope: ProjectScope,
    messageId: string,
    attachments: readonly Attachment[],
    now: Date,
  ): Promise<string> {
    const { environmentId } = scope;
    const key = randomBytes(32);
    for (const parts of inStatements(attachments)) {
      const rows = parts.map(({ position, part, octets }) => {
        const sealed = encrypt(key, octets, placeOf(messageId, position, part));
        return sql`(${environmentId}::bigint, ${messageId}::uuid, ${position}::smallint, ${part}::smallint, ${now}::timestamptz, ${sealed}::bytea)`;
      });
      await sql`
        insert into messaging.message_attachments (environment_id, message_id, position, part, created_at, sealed) values ${sql.join(rows)}
      `.execute(this.database.tables());
    }
    return this.seals.sealKey(scope, key);
  }

  /**
   * The files as parts of a mail. Takes the memory of that, and a few parts more.
   * @throws {UnreadableSecretError} and an error when one is not there
   */
  encoded(
    scope: ProjectScope,
    messageId: string,
    files: readonly AttachedFile[],
    sealedKey: string,
  ): Promise<EncodedAttachment[]> {
    const key = this.seals.openKey(scope, sealedKey);
    const inParts = files.map((file, position) => ({
      ...file,
      content: this.#parts(scope, { messageId, position, size: file.size, key }),
    }));
    const encoded = this.#turn.then(() => this.database.transaction(scope, () => encodeAttachments(inParts)));
    this.#turn = encoded.catch(() => undefined);
    return encoded;
  }

  async *#parts(
    { environmentId }: ProjectScope,
    { messageId, position, size, key }: { messageId: string; position: number; size: number; key: Buffer },
  ): AsyncGenerator<Buffer> {
    for (let part = 0; part * PART < size; part += 1) {
      const { rows } = await sql<{ sealed: Buffer }>`
        select a.sealed from messaging.message_attachments a
        where a.environment_id = ${environmentId} and a.message_id = ${messageId} and a.position = ${position} and a.part = ${part}
      `.execute(this.database.tables());
      if (rows[0] === undefined) throw new Error('The attachments of the message are not there any more.');
      yield decryptOctets(key, rows[0].sealed, placeOf(messageId, position, part));
    }
  }
}

/** Removes the files of messages that the SQL names by `message_id`. */
export const forgetAttachments = (
  { environmentId }: ProjectScope,
  which: RawBuilder<unknown>,
): RawBuilder<unknown> =>
  sql`delete from messaging.message_attachments where environment_id = ${environmentId} and ${which}`;

/** Parts for one statement each: one as large as they get, or several that are smaller together. */
function* inStatements(attachments: readonly Attachment[]): Generator<readonly Part[]> {
  let parts: Part[] = [];
  let size = 0;
  for (const [position, { content }] of attachments.entries())
    for (let at = 0; at < content.length; at += PART) {
      const octets = content.subarray(at, at + PART);
      if (size + octets.length > PART) {
        yield parts;
        parts = [];
        size = 0;
      }
      parts.push({ position, part: at / PART, octets });
      size += octets.length;
    }
  if (parts.length > 0) yield parts;
}

/** The place that a part is bound to: it decrypts in no other. */
const placeOf = (messageId: string, position: number, part: number) => `${messageId}/${position}/${part}`;
