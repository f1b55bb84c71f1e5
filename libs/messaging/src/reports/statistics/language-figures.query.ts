import { sql } from 'kysely';
import { matchLocale, type ProjectScope } from '#kernel';
import type { Database } from '#platform';
import { type CampaignMails, figuresBy, type MailFigures } from './provider-figures.query.js';
import { settledFigures } from './settled-figures.query.js';

/** What became of a campaign's mails in one language. */
export interface LanguageFigures extends MailFigures {
  /** Of the translation; null: the campaign's own content. */
  readonly locale: string | null;
}

/** A campaign, with the locales of its translations. */
export interface TranslatedMails extends CampaignMails {
  readonly translations: readonly string[];
}

/** The languages that a campaign was sent in, the most read first; none of a campaign without translations. */
export async function languageFigures(
  database: Database,
  scope: ProjectScope,
  campaign: TranslatedMails,
): Promise<LanguageFigures[]> {
  if (campaign.translations.length === 0) return [];
  const { rows } = await sql<LanguageFigures>`
    select locale, sent, sent - bounced as delivered, bounced, opened, clicked
    from (${figuresBy(sql`d.locale`, scope, campaign)}) f(locale, sent, bounced, opened, clicked)
  `.execute(database.tables());
  const settled = await settledFigures<LanguageFigures[]>(database, scope, campaign.id, 'languages');
  if (settled !== null) return settled;
  const sentIn = Map.groupBy(rows, ({ locale }) => matchLocale([locale], campaign.translations));
  return [...sentIn]
    .map(([locale, figures]) => ({ locale, ...sumOf(figures) }))
    .sort((one, other) => other.sent - one.sent || (nameOf(one) < nameOf(other) ? -1 : 1));
}

/** The campaign's own content comes last. */
const nameOf = ({ locale }: LanguageFigures): string => locale ?? '~';

function sumOf(figures: readonly MailFigures[]): MailFigures {
  const sum = { sent: 0, delivered: 0, bounced: 0, opened: 0, clicked: 0 };
  const names = Object.keys(sum) as (keyof MailFigures)[];
  for (const one of figures) for (const name of names) sum[name] += one[name];
  return sum;
}
