import { Inject, Injectable } from '@nestjs/common';
import { type Project, ProjectsQuery, ProjectWordings } from '#access';
import { CustomFieldsQuery } from '#audience';
import type { ProjectScope } from '#kernel';
import type { Wording } from '#wording';
import { ContentProcesses, footerOf } from '../../content/processes/content-processes.service.js';
import type { EmailConfig } from '../graph/node-config.js';
import type { Faults } from '../../content/review/mail-faults.js';

/** What the mails of this project may refer to. */
export interface MailRules {
  readonly project: Project;
  readonly wording: Wording;
  readonly customKeys: readonly string[];
}

/** Checks the content of an automation's mails and webhooks. */
@Injectable()
export class MailChecks {
  constructor(
    @Inject(ProjectsQuery) private readonly projects: ProjectsQuery,
    @Inject(ProjectWordings) private readonly wordings: ProjectWordings,
    @Inject(CustomFieldsQuery) private readonly customFields: CustomFieldsQuery,
    @Inject(ContentProcesses) private readonly processes: ContentProcesses,
  ) {}

  async rules(scope: ProjectScope): Promise<MailRules> {
    const project = await this.projects.ofScope(scope);
    if (project === null) throw new Error('The project of this scope is gone.');
    const definitions = await this.customFields.definitions(scope);
    const { wording } = await this.wordings.of(scope, [project.defaultLocale]);
    return { project, wording, customKeys: definitions.map(({ key }) => key) };
  }

  /** The faults of the content by their paths in the config. */
  async faults(
    scope: ProjectScope,
    mail: EmailConfig,
    { project, wording, customKeys }: MailRules,
  ): Promise<Faults> {
    return this.processes.mailFaults(scope, { mail, footer: footerOf(project, wording), customKeys });
  }

  /** The faults of a webhook's body by their paths. */
  bodyFaults(scope: ProjectScope, body: unknown, { customKeys }: MailRules): Promise<Faults> {
    return this.processes.bodyFaults(scope, { body, customKeys });
  }
}
