import { z } from 'zod';
import { AUTOMATION_STATUSES, EXECUTION_STEP_STATUSES, TRIGGER_TYPES } from '#messaging';
import { emailField, int64, pageOf, pageQuery, PLACES, strictBody, timestamp, uuid } from '#platform/http';
import { campaignLink } from './campaign-report.dto.js';
import {
  jsonObject,
  jsonText,
  leftOut,
  metadataField,
  metadataView,
  prose,
  requiredLine,
} from '../fields.js';

const MAX_GRAPH = 4_000_000;
export const MAX_GRAPH_BYTES = 10 * 1024 * 1024;

const name = requiredLine(200);
const description = prose(1_000).nullish();
const triggerType = z.enum(TRIGGER_TYPES).nullish();
const triggerTopicId = z
  .uuid()
  .nullish()
  .meta({ description: 'The topic of `subscriber_joins_list`, and the topic of mails that name none.' });

export const createAutomationBody = strictBody({
  name,
  description,
  triggerType,
  triggerTopicId,
  metadata: metadataField,
}).meta({
  id: 'CreateAutomation',
});

export const updateAutomationBody = strictBody({
  name: name.optional(),
  description,
  status: leftOut(z.enum(AUTOMATION_STATUSES)),
  triggerType,
  triggerTopicId,
  metadata: metadataField,
}).meta({ id: 'UpdateAutomation' });

const nodes = jsonText(MAX_GRAPH).meta({
  description:
    'The steps as JSON in a string: `[{"id","type","config","position"?}]`, at most 200. The types and their configs are in the documentation of automations.',
  example:
    '[{"id":"start","type":"trigger","config":{}},{"id":"wait","type":"delay","config":{"duration":"P3D"}}]',
});
const edges = z.string().max(MAX_GRAPH).meta({
  description:
    'The connections between the steps as JSON in a string: `[{"id","source","target","branch"?}]`.',
  example: '[{"id":"e1","source":"start","target":"wait"}]',
});

export const automationContentBody = strictBody({
  nodes: nodes.nullish(),
  edges: edges.nullish(),
}).meta({ id: 'AutomationContent' });

export const automationListQuery = pageQuery({ status: z.enum(AUTOMATION_STATUSES).optional() });

export const automationView = z
  .object({
    id: uuid,
    automationKey: z.string().nullable().meta({ example: 'APIT-1' }),
    name: z.string(),
    description: z.string().nullable(),
    status: z.enum(AUTOMATION_STATUSES),
    triggerType: z.enum(TRIGGER_TYPES).nullable(),
    triggerTopicId: uuid.nullable(),
    triggerTopicName: z.string().nullable(),
    metadata: metadataView,
    nodeCount: z.int().nullable(),
    totalEntered: int64.nullable(),
    totalCompleted: int64.nullable().meta({ description: 'People who reached the end or a goal.' }),
    currentlyActive: int64.nullable(),
    nodes: z.string().nullable(),
    edges: z.string().nullable(),
    warnings: z.array(z.object({ path: z.string(), message: z.string() })).meta({
      description:
        'When steps are replaced and on activation, by path: pieces of mails that no mail can carry and that are left out, and merge tags of events that no event of the last 90 days would fill; empty in other answers.',
      example: [],
    }),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Automation' });
export const automationPage = pageOf(automationView, 'AutomationPage');

const MAX_DATA_BYTES = 8 * 1024;

export const enterAutomationBody = strictBody({
  email: emailField,
  data: jsonObject(MAX_DATA_BYTES)
    .nullish()
    .meta({ description: 'Data for webhooks and for `{{ event.… }}` in mails, at most 8 KB of JSON.' }),
}).meta({ id: 'EnterAutomation' });

export const enteredView = z.object({ id: uuid }).meta({ id: 'EnteredAutomation' });

export const executionListQuery = pageQuery({}, [PLACES.id]);

const executionView = z
  .object({
    id: uuid,
    email: z.string().nullable().meta({ description: 'Null when the subscriber was erased.' }),
    status: z.enum(['ACTIVE', 'COMPLETED', 'CONVERTED', 'FAILED', 'CANCELLED']),
    currentNodeId: z.string().nullable(),
    enteredAt: timestamp,
    completedAt: timestamp.nullable().meta({ description: 'When the run ended, for any reason.' }),
    steps: z.array(
      z.object({
        nodeId: z.string(),
        status: z.enum(EXECUTION_STEP_STATUSES),
        at: timestamp,
        detail: z.string().nullable(),
      }),
    ),
  })
  .meta({ id: 'AutomationExecution' });
export const executionPage = pageOf(executionView, 'AutomationExecutionPage');

const mailFigures = {
  sent: int64.meta({ description: 'Mails that the next hop accepted.' }),
  delivered: int64.meta({ description: 'Sent minus bounced.' }),
  uniqueOpens: int64.meta({ description: 'Mails that somebody opened; a click counts as an open.' }),
  uniqueClicks: int64.meta({ description: 'Mails in which somebody followed a link.' }),
  unsubscribed: int64.meta({ description: 'Mails through which their readers unsubscribed.' }),
};

export const automationReportView = z
  .object({
    automationId: z.uuid(),
    automationKey: z.string().meta({ example: 'APIT-1' }),
    totals: z.object({
      entered: int64.meta({ description: 'Runs that began; those below by their status are as many.' }),
      active: int64,
      completed: int64.meta({ description: 'To the end, without those that reached a goal.' }),
      converted: int64.meta({ description: 'Reached a goal.' }),
      failed: int64,
      cancelled: int64.meta({
        description: 'Left by `exitWhen`, ended with the automation, or by an erasure.',
      }),
      ...mailFigures,
    }),
    nodes: z
      .array(
        z
          .object({
            nodeId: z.string().meta({ example: 'mail' }),
            type: z.string().meta({ example: 'email' }),
            isCurrent: z.boolean().meta({
              description:
                'Whether the version that people enter has the node; false where an earlier one had it.',
            }),
            entered: int64.meta({ description: 'Runs that came to the node.' }),
            left: int64.meta({
              description: 'Runs that went on from it or ended at it; the rest of `entered` are at it.',
            }),
            ...mailFigures,
            links: z
              .array(
                campaignLink
                  .extend({
                    locale: z.string().nullable().meta({
                      description:
                        'The translation of the step’s template that has the link; null: the step’s own content.',
                    }),
                  })
                  .meta({ id: 'AutomationLink' }),
              )
              .meta({ description: 'Every tracked link of the node’s mails, the most followed first.' }),
          })
          .meta({ id: 'AutomationNodeReport' }),
      )
      .meta({
        description:
          'The nodes of the version that people enter, in the order of `nodes`, then those of earlier versions that people came ' +
          'to. A node is the same in all versions that have its id. Empty before the first activation.',
      }),
  })
  .meta({ id: 'AutomationReport' });
