import type { Generated } from 'kysely';
import type { BounceClass } from '#deliverability';
import type { Tables } from '#platform';
import { AutomationSchema } from './automations/automation.schema.js';
import type { RunStatus, StepStatus, TriggerType } from './automations/automation.js';
import { CampaignSchema } from './campaigns/campaign.schema.js';
import type { DeliveryKind, DeliveryState, MailLinks } from './deliveries/delivery.js';
import type { MailboxBehaviour } from './sending/mailbox-behaviour.js';
import type { DataExport, DataExportPart } from './reports/exports/data-export.js';
import { ReportExportSchema } from './reports/exports/report-export.schema.js';
import { CampaignReportSchema } from './reports/writing/campaign-report.schema.js';
import type { ResolvedContent, TemplateContent } from './templates/template.js';
import { TemplateSchema } from './templates/template.schema.js';

export const messagingEntities = [
  AutomationSchema,
  CampaignReportSchema,
  CampaignSchema,
  ReportExportSchema,
  TemplateSchema,
];

type DataExportsTable = Omit<DataExport, DataExportDefault> & {
  readonly [Column in DataExportDefault]: Generated<DataExport[Column]>;
};
type DataExportDefault = 'status' | 'run' | 'parts' | 'rows' | 'failureReason' | 'expiresAt';

interface AutomationRunsTable {
  readonly environmentId: number;
  readonly automationNumber: number;
  readonly versionId: number;
  readonly wakeAt: Date | null;
  readonly enteredAt: Date;
  readonly finishedAt: Date | null;
  readonly id: string;
  readonly subscriberId: string | null;
  readonly position: number;
  readonly attempts: Generated<number>;
  readonly isWaiting: Generated<boolean>;
  readonly isCalling: Generated<boolean>;
  readonly hasHappened: Generated<boolean>;
  readonly status: Generated<RunStatus>;
}

interface AutomationSecretsTable {
  readonly environmentId: number;
  readonly projectId: number;
  readonly secret: string;
}

interface AutomationStepsTable {
  readonly environmentId: number;
  readonly at: Date;
  readonly enteredOn: string;
  readonly position: number;
  readonly runId: string;
  readonly status: StepStatus;
  readonly detail: string | null;
}

interface AutomationVersionsTable {
  readonly id: Generated<number>;
  readonly environmentId: number;
  readonly automationId: string;
  readonly version: number;
  readonly triggerType: TriggerType;
  readonly triggerTopicId: string | null;
  readonly nodes: string;
  readonly edges: string;
  readonly mailTopicIds: readonly (string | null)[];
  readonly mailTemplateIds: readonly (string | null)[];
  readonly waitIds: readonly (string | null)[];
  readonly topicIds: readonly string[];
  readonly segmentIds: readonly string[];
  readonly createdAt: Date;
}

interface BreakdownsDueTable {
  readonly campaignId: string;
  readonly environmentId: number;
  readonly dueAt: Date;
  readonly earliestAt: Date;
}

interface CampaignTestsTable {
  readonly id: string;
  readonly environmentId: number;
  readonly campaignId: string;
  readonly emails: number;
  readonly createdAt: Date;
}

export interface DeliveriesTable {
  readonly id: string;
  readonly queuedOn: string;
  readonly environmentId: number;
  readonly kind: DeliveryKind;
  readonly sourceId: string;
  readonly subscriberId: string | null;
  readonly address: string;
  readonly addressKey: string;
  readonly locale: string | null;
  readonly messageId: string;
  readonly state: DeliveryState;
  readonly reason: string | null;
  readonly lastError: string | null;
  readonly leaseToken: string | null;
  readonly leaseUntil: Date | null;
  readonly leaseEpoch: number | null;
  readonly attempt: Generated<number>;
  readonly nextAttemptAt: Date;
  readonly dueSince: Date | null;
  readonly possibleDuplicate: Generated<boolean>;
  readonly sentAt: Date | null;
  readonly bouncedAt: Date | null;
  readonly bounceType: 'HARD' | 'SOFT' | null;
  readonly bounceClass: BounceClass | null;
  readonly relayKey: string | null;
  readonly providerMessageId: string | null;
  /** Number of the campaign's variant. */
  readonly variant: number | null;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
}

interface DeliveryEngagementTable {
  readonly deliveryId: string;
  readonly queuedOn: string;
  readonly environmentId: number;
  /** Null: a mail of an automation. */
  readonly campaignId: string | null;
  readonly opens: Generated<number>;
  readonly clicks: Generated<number>;
  readonly firstOpenedAt: Date | null;
  readonly firstClickedAt: Date | null;
  readonly clickedLinks: readonly number[] | null;
}

interface DeliveryEventsTable {
  readonly id: string;
  readonly occurredAt: Date;
  readonly environmentId: number;
  readonly campaignId: string | null;
  readonly deliveryId: string;
  readonly subscriberId: string | null;
  readonly type: string;
  readonly bounceType: string | null;
  readonly url: string | null;
  readonly linkNumber: number | null;
  readonly linkSet: number | null;
  readonly classification: Generated<string>;
  readonly agent: string | null;
}

interface ExportPartsTable {
  readonly exportId: string;
  readonly part: number;
  readonly environmentId: number;
  readonly content: string;
}

export interface LinkSetsTable {
  readonly id: Generated<number>;
  readonly environmentId: number;
  readonly campaignId: string | null;
  readonly messageId: string | null;
  readonly versionId: number | null;
  readonly place: number | null;
  readonly queuedOn: string;
  readonly translation: string | null;
  readonly urls: readonly string[];
  readonly signature: Buffer;
  readonly createdAt: Date;
}

interface MailboxSimulationsTable {
  readonly deliveryId: string;
  readonly environmentId: number;
  readonly behaviour: MailboxBehaviour;
  readonly createdAt: Date;
}

interface SenderStopsTable {
  readonly environmentId: number;
  readonly stoppedAt: Date;
}

interface SendingStopsTable {
  readonly environmentId: number;
  readonly stream: Generated<'MARKETING' | 'TRANSACTIONAL'>;
  readonly reason: string;
  readonly stoppedAt: Date;
  readonly resumedAt: Date | null;
}

interface ServerEpochTable {
  readonly environmentId: number;
  readonly epoch: number;
}

interface TemplateContentsTable {
  readonly id: string;
  readonly environmentId: number;
  readonly templateId: string;
  readonly version: number;
  readonly content: ResolvedContent;
  readonly createdAt: Date;
}

interface TemplateUsesTable {
  readonly environmentId: number;
  readonly usedId: string;
  readonly templateId: string;
}

interface TemplateVersionsTable {
  readonly id: string;
  readonly environmentId: number;
  readonly templateId: string;
  readonly version: number;
  readonly content: TemplateContent;
  readonly createdAt: Date;
}

interface TestInboxMessagesTable {
  readonly id: string;
  readonly environmentId: number;
  readonly deliveryId: string;
  readonly kind: DeliveryKind;
  readonly toAddress: string;
  readonly toKey: string;
  readonly fromAddress: string;
  readonly subject: string;
  readonly links: MailLinks;
  readonly raw: Buffer;
  readonly receivedAt: Date;
}

/** The tables of the schema `messaging`. Those without an entity are written by SQL alone. */
export type MessagingTables = Tables<'messaging', (typeof messagingEntities)[number]> & {
  'messaging.automation_runs': AutomationRunsTable;
  'messaging.automation_secrets': AutomationSecretsTable;
  'messaging.automation_steps': AutomationStepsTable;
  'messaging.automation_versions': AutomationVersionsTable;
  'messaging.breakdowns_due': BreakdownsDueTable;
  'messaging.campaign_tests': CampaignTestsTable;
  'messaging.deliveries': DeliveriesTable;
  'messaging.delivery_engagement': DeliveryEngagementTable;
  'messaging.delivery_events': DeliveryEventsTable;
  'messaging.data_exports': DataExportsTable;
  'messaging.data_export_parts': DataExportPart;
  'messaging.export_parts': ExportPartsTable;
  'messaging.link_sets': LinkSetsTable;
  'messaging.mailbox_simulations': MailboxSimulationsTable;
  'messaging.sender_stops': SenderStopsTable;
  'messaging.sending_stops': SendingStopsTable;
  'messaging.server_epoch': ServerEpochTable;
  'messaging.template_contents': TemplateContentsTable;
  'messaging.template_uses': TemplateUsesTable;
  'messaging.template_versions': TemplateVersionsTable;
  'messaging.test_inbox_messages': TestInboxMessagesTable;
};
