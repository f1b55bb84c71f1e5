import { z } from 'zod';
import type { ProjectTexts } from '#access';
import { SHIPPED_LOCALES } from '#kernel';
import { strictBody, timestamp } from '#platform/http';
import { type WordingKey, wordingKeys } from '#wording';
import { requiredLine } from '../text-fields.js';

const LONGEST_TEXT = 2_000;

/** `pt` was one catalogue before there were two, and goes on as that of most who write it. */
const BEFORE_THERE_WERE_TWO = { pt: 'pt-BR' } as const;

export const localeParam = z
  .enum([...SHIPPED_LOCALES, 'pt'])
  .transform((locale) => (locale === 'pt' ? BEFORE_THERE_WERE_TWO[locale] : locale))
  .meta({ description: '`pt` stands for `pt-BR`.' });

export const updateProjectTextsBody = strictBody({
  texts: strictBody(byKey(requiredLine(LONGEST_TEXT).nullish())).meta({
    description:
      'ICU messages by key, with the placeholders of ours. Null goes back to ours; what is left out stays.',
    example: { [wordingKeys()[0] ?? '']: null },
  }),
}).meta({ id: 'UpdateProjectTexts' });

const texts = z.record(z.string(), z.string());

export const projectTextsView = z
  .object({
    locale: z.enum(SHIPPED_LOCALES),
    version: z.int().meta({
      description: 'Counts the changes; 0 before the first. Consents name the version that was read.',
    }),
    texts: texts.meta({ description: 'What readers get: your own texts, and ours in place of all others.' }),
    overrides: texts.meta({ description: 'Only your own.' }),
    defaults: texts.meta({ description: 'Ours, which `null` goes back to.' }),
    createdAt: timestamp.nullable().meta({ description: 'Of the first version.' }),
    updatedAt: timestamp.nullable().meta({ description: 'Of this version.' }),
  })
  .meta({ id: 'ProjectTexts' });

export function toProjectTextsView(of: ProjectTexts): z.output<typeof projectTextsView> {
  return {
    locale: of.locale,
    version: of.version,
    texts: { ...of.defaults, ...of.own },
    overrides: { ...of.own },
    defaults: of.defaults,
    createdAt: of.createdAt?.toISOString() ?? null,
    updatedAt: of.updatedAt?.toISOString() ?? null,
  };
}

function byKey<Schema>(schema: Schema): Record<WordingKey, Schema> {
  return Object.fromEntries(wordingKeys().map((key) => [key, schema])) as Record<WordingKey, Schema>;
}
