import type { CampaignDraft } from '../../../libs/messaging/src/campaigns/campaign.js';

type Content = Pick<CampaignDraft, 'subject' | 'previewText' | 'contentJson' | 'contentText'>;

const SHOP = 'https://www.acme-shop.com';

const content = (
  subject: string,
  previewText: string,
  blocks: readonly object[] | null,
  contentText: string | null = null,
): Content => ({
  subject,
  previewText,
  contentJson: blocks === null ? null : JSON.stringify({ blocks }),
  contentText,
});
const text = (html: string) => ({ type: 'text', html });
const heading = (words: string) => ({ type: 'heading', level: 1, text: words });
const button = (label: string, path: string) => ({ type: 'button', label, url: `${SHOP}/${path}` });
const image = { type: 'image', src: `${SHOP}/a.png`, alt: 'A red bicycle', href: `${SHOP}/bicycles` };

const ENGLISH =
  '<p>Hello {{ subscriber.first_name | default: "there" }},</p><p>the new bicycles have arrived. You may try them on ' +
  `Saturday from ten until four, and we have coffee. <a href="${SHOP}/saturday">How to find us</a></p><ul><li>City ` +
  'bicycles</li><li>Bicycles for children</li></ul>';
const PLAIN =
  'Hello,\n\nthe new bicycles have arrived. You may try them on Saturday from ten until four.\n\n' +
  `How to find us: ${SHOP}/saturday\n`;

/** Contents as people write them, in all forms that content has. */
export const MAIL_CONTENTS: Readonly<Record<string, Content>> = {
  'blocks of all kinds': content('The new bicycles are here', 'Try them on Saturday', [
    heading('The new bicycles are here'),
    text(ENGLISH),
    image,
    button('See them all', 'bicycles'),
    { type: 'divider' },
    { type: 'columns', columns: [{ blocks: [text('<p>For the city</p>')] }, { blocks: [image] }] },
    { type: 'spacer', height: 20 },
  ]),
  MJML: content('News from the workshop', 'Your bicycle is ready for spring', [
    {
      type: 'mjml',
      mjml:
        '<mjml><mj-head><mj-preview>Ready for spring</mj-preview></mj-head><mj-body><mj-section><mj-column>' +
        `<mj-text>${ENGLISH}</mj-text><mj-button href="${SHOP}/workshop">Book a day</mj-button></mj-column></mj-section>` +
        '</mj-body></mjml>',
    },
  ]),
  'an HTML table': content('Opening hours in May', 'We are there on Sundays too', [
    {
      type: 'html',
      html: `<h2>Opening hours</h2><table><tr><th>Day</th><th>Hours</th></tr><tr><td>Sunday</td><td>ten to two</td></tr></table>${ENGLISH}`,
    },
  ]),
  Hebrew: content('אופניים חדשים בחנות', 'בואו לנסות אותם בשבת', [
    heading('אופניים חדשים בחנות'),
    text('<p>שלום, האופניים החדשים הגיעו. אפשר לנסות אותם ביום ראשון מעשר עד ארבע, ויש גם קפה.</p>'),
    button('לכל האופניים', 'bicycles'),
  ]),
  Arabic: content('وصلت الدراجات الجديدة', 'جربوها يوم السبت', [
    text('<p>مرحبا، وصلت الدراجات الجديدة إلى متجرنا. يمكنكم تجربتها يوم السبت من العاشرة حتى الرابعة.</p>'),
    button('شاهدوها كلها', 'bicycles'),
  ]),
  'Chinese and Japanese': content('新款自行车到店了', '星期六来试骑', [
    text('<p>您好，新款自行车已经到店。星期六十点到四点可以试骑，我们准备了咖啡。</p>'),
    text('<p>こんにちは。新しい自転車が届きました。土曜日の十時から四時まで試乗できます。</p>'),
    button('查看全部', 'bicycles'),
  ]),
  Russian: content('Новые велосипеды уже в магазине', 'Приходите в субботу', [
    heading('Новые велосипеды'),
    text(
      '<p>Здравствуйте! Новые велосипеды уже у нас. В субботу с десяти до четырёх их можно попробовать.</p>',
    ),
    button('Посмотреть все', 'bicycles'),
  ]),
  'plain text alone': content('Saturday at the shop', 'Coffee included', null, PLAIN),
  'a text of its own beside the HTML': content(
    'Saturday at our shop',
    'Coffee included',
    [text(ENGLISH)],
    PLAIN,
  ),
  'links that show addresses': content('Where to find us', 'On the web and in town', [
    text(
      `${ENGLISH}<p><a href="${SHOP}/map">www.acme-shop.com/map</a>, <a href="https://www.city-map.net/acme">` +
        `https://www.city-map.net/acme</a>, <a href="mailto:help@acme-shop.com">help@acme-shop.com</a></p>`,
    ),
  ]),
  'its own way out and address': content('All about tyres', 'What to look for', [
    text(
      `${ENGLISH}<p>{{ project.postal_address }}</p><p><a href="{{ links.unsubscribe }}">No more of this</a></p>`,
    ),
  ]),
};
