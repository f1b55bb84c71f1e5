import { z } from 'zod';
import { TOPIC_PRIORITIES, TOPIC_STATUSES, TOPIC_VISIBILITIES } from '#audience';
import { int64, pageOf, pageQuery, strictBody, timestamp, uuid } from '#platform/http';
import { leftOut, line, metadataField, metadataView, prose, requiredLine, translations } from '../fields.js';

const name = requiredLine(200);
const description = prose(1_000).nullish();
const translation = strictBody({ name, description }).transform((text) => ({ description: null, ...text }));
const fields = {
  description,
  status: leftOut(z.enum(TOPIC_STATUSES)).meta({ description: 'Default: ACTIVE.' }),
  visibility: leftOut(z.enum(TOPIC_VISIBILITIES)).meta({
    description: 'Default: PUBLIC. The preference centre shows a PRIVATE topic only to its subscribers.',
  }),
  priority: z.enum(TOPIC_PRIORITIES).nullish(),
  icon: line(200).nullish(),
  doubleOptInEnabled: leftOut(z.boolean()).meta({
    description: 'Whether a consent must be confirmed by mail. Default: true.',
  }),
  optInTemplateKey: requiredLine(100).nullish().meta({
    description:
      'Key or alias of a published template of kind OPT_IN: the mail that asks for a confirmation. A mail for several topics that name different ones is ours.',
    example: 'APIT-1',
  }),
  translations: translations(translation, 'Name and description for readers of other languages'),
  metadata: metadataField,
};

export const createTopicBody = strictBody({ name, ...fields }).meta({ id: 'CreateTopic' });
export const updateTopicBody = strictBody({ name: name.optional(), ...fields }).meta({ id: 'UpdateTopic' });

export const topicListQuery = pageQuery({
  status: z.enum(TOPIC_STATUSES).optional().meta({ description: 'Only topics of this status.' }),
});

export const topicView = z
  .object({
    id: uuid,
    topicKey: z.string().meta({ example: 'APIT-1' }),
    name: z.string(),
    description: z.string().nullable(),
    status: z.enum(TOPIC_STATUSES),
    visibility: z.enum(TOPIC_VISIBILITIES),
    priority: z.enum(TOPIC_PRIORITIES).nullable(),
    icon: z.string().nullable(),
    doubleOptInEnabled: z.boolean(),
    optInTemplateKey: z.string().nullable(),
    translations: z.record(z.string(), z.object({ name: z.string(), description: z.string().nullable() })),
    metadata: metadataView,
    subscriberCount: int64.meta({ description: 'Subscribers whose consent is subscribed or pending.' }),
    activeSubscriberCount: int64.meta({
      description: 'Subscribers who can get mail: subscribed and not suppressed, bounced or complained.',
    }),
    createdAt: timestamp,
  })
  .meta({ id: 'Topic' });

export const topicPage = pageOf(topicView, 'TopicPage');
