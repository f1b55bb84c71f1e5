/** Every block there is, as one campaign: `mjml` aside, which stands alone. */
export const sampleContent = {
  blocks: [
    { type: 'heading', level: 1, text: 'Spring is here, {{ subscriber.first_name | default: "friend" }}' },
    {
      type: 'text',
      html: '<p>The days are getting longer, and so is the list of things to wear. <strong>All jackets</strong> are <a href="https://shop.example/jackets">20 % less</a> until Sunday:</p><ul><li>light ones for the morning,</li><li>rainproof ones for April.</li></ul>',
    },
    { type: 'button', label: 'See the collection', url: 'https://shop.example/spring' },
    { type: 'divider' },
    { type: 'heading', level: 2, text: 'Made to last' },
    {
      type: 'image',
      src: 'https://shop.example/jacket.png',
      alt: 'A green jacket on a hook',
      href: 'https://shop.example/jackets',
    },
    { type: 'spacer', height: 16 },
    {
      type: 'columns',
      columns: [
        {
          blocks: [
            { type: 'heading', level: 3, text: 'Repairs' },
            { type: 'text', html: '<p>A seam that opens is ours to close, for ten years.</p>' },
            { type: 'button', label: 'How', url: 'https://shop.example/repairs', color: '#17594a' },
          ],
        },
        {
          blocks: [
            { type: 'heading', level: 3, text: 'Stores' },
            { type: 'text', html: '<p>Try them on where you live: there are seven of us now.</p>' },
            { type: 'button', label: 'Where', url: 'https://shop.example/stores', color: '#17594a' },
          ],
        },
      ],
    },
    {
      type: 'html',
      html: '<table width="100%"><tr><th align="left">Size</th><th align="right">Left</th></tr><tr><td>S</td><td align="right">12</td></tr><tr><td>M</td><td align="right">31</td></tr></table><blockquote>“The pockets are where pockets should be.”</blockquote>',
    },
  ],
};
