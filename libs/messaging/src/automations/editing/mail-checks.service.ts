import { Inject, Injectable } from '@nestjs/common';
import { type Project, ProjectsQuery } from '#access';
import { CustomFieldsQuery } from '#audience';
import type { ProjectScope } from '#kernel';
import { ContentProcesses, footerOf } from '../../content/processes/content-processes.service.js';
import type { EmailConfig } from '../graph/node-config.js';
import type { Faults } from '../../content/review/mail-faults.js';

/** What mails of this project may hold. */
export interface MailRules {
  readonly project: Project;
  readonly customKeys: readonly string[];
}

/** Looks at the mails of an automation before anybody gets them. */
@Injectable()
export class MailChecks {
  constructor(
    @Inject(ProjectsQuery) private readonly projects: ProjectsQuery,
    @Inject(CustomFieldsQuery) private readonly customFields: CustomFieldsQuery,
    @Inject(ContentProcesses) private readonly processes: ContentProcesses,
  ) {}

  async rules(scope: ProjectScope): Promise<MailRules> {
    const project = await this.projects.ofScope(scope);
    if (project === null) throw new Error('The project of this scope is gone.');
    const definitions = await this.customFields.definitions(scope);
    return { project, customKeys: definitions.map(({ key }) => key) };
  }

  /** Every fault of the content by its path inside of the config. */
  async faults(scope: ProjectScope, mail: EmailConfig, { project, customKeys }: MailRules): Promise<Faults> {
    return this.processes.mailFaults(scope, { mail, footer: footerOf(project), customKeys });
  }

  /** Every fault of a webhook's body, by its path. */
  bodyFaults(scope: ProjectScope, body: unknown, { customKeys }: MailRules): Promise<Faults> {
    return this.processes.bodyFaults(scope, { body, customKeys });
  }
}
