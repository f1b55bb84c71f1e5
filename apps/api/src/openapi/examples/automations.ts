import type { z } from 'zod';
import type {
  automationContentBody,
  automationReportView,
  automationView,
  createAutomationBody,
  enterAutomationBody,
  enteredView,
  executionPage,
  updateAutomationBody,
} from '../../messaging/automation.dto.js';
import { TOPIC_ID } from './audience.js';
import { onePage, type WrittenExamples } from './written-example.js';

export const AUTOMATION_ID = '019c70d6-0480-7b92-9c3e-2f6b8a4d1e99';
const EXECUTION_ID = '019c7bec-2700-7c1e-9c3e-2f6b8a4d1e9a';

const NEW_AUTOMATION = {
  name: 'Welcome',
  description: 'A mail on the day after the sign-up',
  triggerType: 'subscriber_joins_list',
  triggerTopicId: TOPIC_ID,
} satisfies z.input<typeof createAutomationBody>;

const CREATED_AUTOMATION = {
  ...NEW_AUTOMATION,
  id: AUTOMATION_ID,
  automationKey: 'APIT-1',
  status: 'DRAFT',
  triggerTopicName: 'Product news',
  metadata: {},
  nodeCount: null,
  totalEntered: 0,
  totalCompleted: 0,
  currentlyActive: 0,
  nodes: null,
  edges: null,
  warnings: [],
  createdAt: '2026-02-18T13:00:00.000Z',
  updatedAt: '2026-02-18T13:00:00.000Z',
} satisfies z.output<typeof automationView>;

const WELCOME_MAIL = JSON.stringify({ blocks: [{ type: 'text', html: '<p>Good to have you here.</p>' }] });

const CONTENT = {
  nodes: JSON.stringify([
    { id: 'start', type: 'trigger', config: {} },
    { id: 'wait', type: 'delay', config: { duration: 'P1D' } },
    { id: 'mail', type: 'email', config: { subject: 'Welcome', contentJson: WELCOME_MAIL } },
  ]),
  edges: JSON.stringify([
    { id: 'e1', source: 'start', target: 'wait' },
    { id: 'e2', source: 'wait', target: 'mail' },
  ]),
} satisfies z.input<typeof automationContentBody>;

const AUTOMATION_WITH_CONTENT = {
  ...CREATED_AUTOMATION,
  ...CONTENT,
  nodeCount: 3,
  updatedAt: '2026-02-18T13:20:00.000Z',
} satisfies z.output<typeof automationView>;

const CHANGES = { name: 'Welcome to Acme' } satisfies z.input<typeof updateAutomationBody>;

const CHANGED_AUTOMATION = {
  ...AUTOMATION_WITH_CONTENT,
  ...CHANGES,
  updatedAt: '2026-02-18T13:25:00.000Z',
} satisfies z.output<typeof automationView>;

const ACTIVE_AUTOMATION = {
  ...CHANGED_AUTOMATION,
  status: 'ACTIVE',
  updatedAt: '2026-02-18T13:30:00.000Z',
} satisfies z.output<typeof automationView>;

const AUTOMATION = {
  ...ACTIVE_AUTOMATION,
  totalEntered: 42,
  totalCompleted: 39,
  currentlyActive: 3,
} satisfies z.output<typeof automationView>;

const PAUSED_AUTOMATION = {
  ...AUTOMATION,
  status: 'PAUSED',
  updatedAt: '2026-03-05T09:00:00.000Z',
} satisfies z.output<typeof automationView>;

const ENTRY = { email: 'ada@example.com', data: { plan: 'team' } } satisfies z.input<
  typeof enterAutomationBody
>;

const EXECUTIONS = onePage({
  id: EXECUTION_ID,
  email: 'ada@example.com',
  status: 'ACTIVE',
  currentNodeId: 'wait',
  enteredAt: '2026-02-20T16:40:00.000Z',
  completedAt: null,
  steps: [
    { nodeId: 'start', status: 'DONE', at: '2026-02-20T16:40:00.000Z', detail: null },
    {
      nodeId: 'wait',
      status: 'WAITING',
      at: '2026-02-20T16:40:00.000Z',
      detail: 'until 2026-02-21T16:40:00.000Z',
    },
  ],
}) satisfies z.output<typeof executionPage>;

const NO_MAILS = { sent: 0, delivered: 0, uniqueOpens: 0, uniqueClicks: 0, unsubscribed: 0, links: [] };
const MAILS = { sent: 39, delivered: 39, uniqueOpens: 21, uniqueClicks: 8, unsubscribed: 1 };

const REPORT = {
  automationId: AUTOMATION_ID,
  automationKey: 'APIT-1',
  totals: { entered: 42, active: 3, completed: 39, converted: 0, failed: 0, cancelled: 0, ...MAILS },
  nodes: [
    { nodeId: 'start', type: 'trigger', isCurrent: true, entered: 42, left: 42, ...NO_MAILS },
    { nodeId: 'wait', type: 'delay', isCurrent: true, entered: 42, left: 39, ...NO_MAILS },
    {
      nodeId: 'mail',
      type: 'email',
      isCurrent: true,
      entered: 39,
      left: 39,
      ...MAILS,
      links: [
        { url: 'https://acme.example/start', linkNumber: 1, locale: null, clicks: 11, uniqueClicks: 8 },
      ],
    },
  ],
} satisfies z.output<typeof automationReportView>;

export const AUTOMATION_EXAMPLES: WrittenExamples = {
  listAutomations: { answer: onePage(AUTOMATION) },
  createAutomation: { body: NEW_AUTOMATION, answer: CREATED_AUTOMATION },
  getAutomation: { answer: AUTOMATION },
  updateAutomation: { body: CHANGES, answer: CHANGED_AUTOMATION },
  updateAutomationContent: { body: CONTENT, answer: AUTOMATION_WITH_CONTENT },
  activateAutomation: { answer: ACTIVE_AUTOMATION },
  pauseAutomation: { answer: PAUSED_AUTOMATION },
  getAutomationReport: { answer: REPORT },
  listAutomationExecutions: { answer: EXECUTIONS },
  enterAutomation: { body: ENTRY, answer: { id: EXECUTION_ID } satisfies z.output<typeof enteredView> },
};
