import { z } from 'zod';
import { TRIGGER_TYPES } from '../automation.js';

const object = z.record(z.string(), z.unknown());

const automationTemplate = z.strictObject({
  name: z.string(),
  description: z.string(),
  trigger: z.strictObject({ type: z.enum(TRIGGER_TYPES) }),
  /** The segment that it is for, which is made where none is named. */
  segment: z.strictObject({ name: z.string(), description: z.string(), rules: object }).nullable(),
  /** What subscribers must have a field for. */
  customFields: z.array(
    z.strictObject({ key: z.string(), displayName: z.string(), type: z.enum(['DATE', 'TEXT', 'NUMBER']) }),
  ),
  nodes: z.array(object),
  edges: z.array(object),
});

/** An automation that waits to be installed: whose topic and segment it is for is filled in then. */
export type AutomationTemplate = Readonly<z.output<typeof automationTemplate>>;

/** Reads the file of a template. Throws an `Error` that says what is wrong with it. */
export function parseAutomationTemplate(text: string): AutomationTemplate {
  return automationTemplate.parse(JSON.parse(text));
}

/** The project's keys for what a template names. */
export interface TemplateNames {
  readonly topicKey: string;
  /** Null: the segment that the template is for, if any, is created. */
  readonly segmentKey: string | null;
}

/** As JSON, with `$topicKey` and `$segmentKey` filled in wherever they stand as a whole value. */
export function filledIn(part: unknown, { topicKey, segmentKey }: TemplateNames): string {
  const names = new Map<unknown, string | null>([
    ['$topicKey', topicKey],
    ['$segmentKey', segmentKey],
  ]);
  return JSON.stringify(part, (_, value: unknown) => (names.has(value) ? names.get(value) : value));
}
