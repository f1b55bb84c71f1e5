import { z } from 'zod';
import { pageOf, pageQuery, PLACES, timestamp } from '#platform/http';
import { DELIVERY_STATES, type DeliveryRow } from '#messaging';

export const deliveryListQuery = pageQuery({ status: z.enum(DELIVERY_STATES).optional() }, [
  PLACES.id.nullable(),
  PLACES.id,
]);

const deliveryView = z
  .object({
    id: z.uuid(),
    subscriberId: z.uuid().nullable().meta({ description: 'Null when the subscriber was erased.' }),
    email: z.string().nullable().meta({ description: 'Null when the subscriber was erased.' }),
    status: z.enum(DELIVERY_STATES),
    reason: z.string().nullable().meta({
      description: 'Why the delivery was skipped or cancelled, or the class of the failure.',
      example: 'mailbox',
    }),
    locale: z.string().nullable().meta({
      description:
        'The recipient’s language when the mail was queued (BCP 47), by which its translation was chosen.',
      example: 'de-AT',
    }),
    attempts: z.int(),
    lastError: z.string().nullable().meta({ description: 'The last answer of the next hop.' }),
    messageId: z.string(),
    possibleDuplicate: z
      .boolean()
      .meta({ description: 'Whether it was sent again although the first one may have arrived.' }),
    relayKey: z.string().nullable().meta({
      description: 'The project’s relay that it was handed to last; null: the installation’s, or none yet.',
      example: 'APIT-1',
    }),
    providerMessageId: z
      .string()
      .nullable()
      .meta({ description: 'What that relay called it when it took it, as its log and events name it.' }),
    nextAttemptAt: timestamp.nullable(),
    sentAt: timestamp.nullable().meta({ description: 'When the next hop accepted it.' }),
    finishedAt: timestamp.nullable(),
  })
  .meta({ id: 'Delivery' });
export const deliveryPage = pageOf(deliveryView, 'DeliveryPage');

export function toDeliveryView(row: DeliveryRow): z.input<typeof deliveryView> {
  const { nextAttemptAt, sentAt, finishedAt, ...plain } = row;
  return {
    ...plain,
    nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
    sentAt: sentAt?.toISOString() ?? null,
    finishedAt: finishedAt?.toISOString() ?? null,
  };
}
