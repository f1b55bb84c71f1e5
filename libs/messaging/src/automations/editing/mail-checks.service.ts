import { Injectable } from '@nestjs/common';
import { type Project, ProjectsQuery, ProjectWordings } from '#access';
import { CustomFieldsQuery } from '#audience';
import type { ProjectScope } from '#kernel';
import type { Wording } from '#wording';
import { ContentProcesses, footerOf } from '../../content/processes/content-processes.service.js';
import type { AutomationWarning } from '../automation.errors.js';
import { type AutomationGraph, isOf } from '../graph/automation-graph.js';
import { type EmailConfig, namedIn } from '../graph/node-config.js';
import type { Faults } from '../../content/document/content-document.js';
import type { MailReview } from '../../content/document/content-review.js';

/** As many warnings as an answer has. */
const MOST_WARNINGS = 100;

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
    private readonly projects: ProjectsQuery,
    private readonly wordings: ProjectWordings,
    private readonly customFields: CustomFieldsQuery,
    private readonly processes: ContentProcesses,
  ) {}

  async rules(scope: ProjectScope): Promise<MailRules> {
    const project = await this.projects.ofScope(scope);
    if (project === null) throw new Error('The project of this scope is gone.');
    const definitions = await this.customFields.definitions(scope);
    const { wording } = await this.wordings.of(scope, [project.defaultLocale]);
    return { project, wording, customKeys: definitions.map(({ key }) => key) };
  }

  /** Its faults by their paths in the config, and what it loses. */
  review(
    scope: ProjectScope,
    mail: EmailConfig,
    { project, wording, customKeys }: MailRules,
  ): Promise<MailReview> {
    return this.processes.reviewMail(scope, { mail, footer: footerOf(project, wording), customKeys });
  }

  /** The faults of a webhook's body by their paths. */
  bodyFaults(scope: ProjectScope, body: unknown, { customKeys }: MailRules): Promise<Faults> {
    return this.processes.bodyFaults(scope, { body, customKeys });
  }

  /** What the mails of these steps lose, by its path: none of it keeps people from getting them. Not within a transaction. */
  async warnings(scope: ProjectScope, { nodes }: AutomationGraph): Promise<readonly AutomationWarning[]> {
    const rules = await this.rules(scope);
    const warnings: AutomationWarning[] = [];
    for (const [place, node] of nodes.entries()) {
      const { mail } = namedIn(node);
      if (!isOf(node, 'email') || mail === null) continue;
      const { removed } = await this.review(scope, mail, rules);
      warnings.push(...removed.map((piece) => warningOf(`nodes[${place}].config.`, piece)));
    }
    const more = warnings.length - MOST_WARNINGS;
    if (more <= 0) return warnings;
    return [
      ...warnings.slice(0, MOST_WARNINGS),
      { path: 'nodes', message: `${more} more pieces of mails are left out, since no mail carries them.` },
    ];
  }
}

/** `contentJson.blocks[2].html: <script>` */
function warningOf(config: string, piece: string): AutomationWarning {
  const [inner = ''] = piece.split(': ', 1);
  const path = `${config}${inner}`;
  return {
    path,
    message: `${path} holds what no mail carries, so it is left out: ${piece.slice(inner.length + 2)}`,
  };
}
