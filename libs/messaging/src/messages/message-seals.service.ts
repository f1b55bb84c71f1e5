import { Injectable, Module } from '@nestjs/common';
import { sql } from 'kysely';
import { environmentScopes } from '#access';
import type { ProjectScope } from '#kernel';
import { Database, resealRows, type SealedRow, type SealedSecrets, SecretBox } from '#platform';
import type { MessageContent } from './message.js';

type Owner = Pick<ProjectScope, 'projectId' | 'environmentId'>;

/** The context in which the content of a message that keeps nothing is sealed, and the key of its files. */
const contextOf = ({ projectId, environmentId }: Owner) => ({
  purpose: 'message-content',
  owner: { projectId, environmentId },
});

/** The sealed contents of all projects' messages. */
const CONTENTS = {
  contextOf,
  sealedOtherwise: (prefix: string, limit: number) => sql<SealedRow<string>>`
    select m.id as key, e.project_id, m.environment_id, array[m.sealed_content, m.attachments_key] as boxes
    from messaging.messages m join ${environmentScopes} e on e.environment_id = m.environment_id
    where (m.sealed_content is not null and not starts_with(m.sealed_content, ${prefix}))
      or (m.attachments_key is not null and not starts_with(m.attachments_key, ${prefix}))
    order by m.environment_id, m.id limit ${limit}
  `,
  rewrite: (
    { key, environmentId, boxes: [oldContent, oldKey] }: SealedRow<string>,
    [content, attachmentsKey]: SealedRow<string>['boxes'],
  ) => sql`
    update messaging.messages set sealed_content = ${content}, attachments_key = ${attachmentsKey}
    where environment_id = ${environmentId} and id = ${key}
      and sealed_content is not distinct from ${oldContent}::text and attachments_key is not distinct from ${oldKey}::text
  `,
};

/** Seals what messages are made of that keep nothing, and the keys of all messages' files, for as long as they wait. */
@Injectable()
export class MessageSealsService implements SealedSecrets {
  constructor(
    private readonly database: Database,
    private readonly box: SecretBox,
  ) {}

  seal(scope: ProjectScope, content: MessageContent): string {
    return this.box.seal(JSON.stringify(content), contextOf(scope));
  }

  sealKey(scope: ProjectScope, key: Buffer): string {
    return this.box.seal(key.toString('base64url'), contextOf(scope));
  }

  /** @throws {UnreadableSecretError} */
  openKey(scope: ProjectScope, sealed: string): Buffer {
    return Buffer.from(this.box.open(sealed, contextOf(scope)), 'base64url');
  }

  /** @throws {UnreadableSecretError} */
  open(scope: ProjectScope, sealed: string): MessageContent {
    return JSON.parse(this.box.open(sealed, contextOf(scope))) as MessageContent;
  }

  resealSecrets(limit: number): Promise<number> {
    return this.database.system(() => resealRows(this.database, this.box, CONTENTS, limit));
  }
}

/** For the command that changes the master key, too. */
@Module({ providers: [MessageSealsService], exports: [MessageSealsService] })
export class MessageSealsModule {}
