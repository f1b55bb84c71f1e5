import { describe, expect, it } from '@jest/globals';
import { octetsOf } from '#kernel';
import { listHeaders, systemHeaders, unsubscribeHeader } from './list-headers.js';
import { buildMimeMessage, HeaderValueError } from './mime-message.js';

const INPUT = {
  listId: 'acmt-1.acme.mail.example',
  listName: 'News, weekly',
  feedbackId: 'ACMC-1:ACMT-1:campaign:acme',
};

const URL_OF_MAIL = `https://mail.example/u/${'t'.repeat(200)}`;
const ADDRESS_OF_MAIL = 'unsubscribe+token@mail.example';

describe('list headers', () => {
  it('offer one-click unsubscription by web and by mail', () => {
    expect([unsubscribeHeader(URL_OF_MAIL, ADDRESS_OF_MAIL), ...listHeaders(INPUT)]).toEqual([
      ['List-Unsubscribe', `<${URL_OF_MAIL}>, <mailto:unsubscribe+token@mail.example>`],
      ['List-Id', '"News, weekly" <acmt-1.acme.mail.example>'],
      ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
      ['Feedback-ID', 'ACMC-1:ACMT-1:campaign:acme'],
      ['Precedence', 'bulk'],
    ]);
  });

  it('stand in a message with the unsubscribe URL unbroken and a list name of any script', () => {
    const message = buildMimeMessage({
      from: { name: null, address: 'a@b.example' },
      to: 'c@d.example',
      subject: 'x',
      messageId: 'm@b.example',
      date: new Date(0),
      html: 'x',
      text: 'x',
      headers: [
        ...listHeaders({
          ...INPUT,
          listName: 'Wöchentliche Neuigkeiten für alle, die sie lesen möchten 📰',
        }),
        unsubscribeHeader(URL_OF_MAIL, ADDRESS_OF_MAIL),
      ],
    });
    const wire = octetsOf(message).toString();
    expect(wire).toContain(`\r\nList-Unsubscribe: <${URL_OF_MAIL}>,\r\n <mailto:`);
    expect(wire).toContain('\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n');
    expect(wire).toMatch(/\r\nList-Id: =\?UTF-8\?/);
    expect(wire).not.toMatch(/[^\r\n -~]/);
  });

  it.each([
    { listId: 'not a list id' },
    { listId: 'a.b>\r\nX: y' },
    { listName: 'News\r\nBcc: x' },
    { feedbackId: 'a b\r\n' },
  ])('refuse %j', (change) => {
    expect(() => listHeaders({ ...INPUT, ...change })).toThrow(HeaderValueError);
  });

  it.each([
    ['https://a.example/>, <https://evil.example', ADDRESS_OF_MAIL],
    ['https://a.example/ x', ADDRESS_OF_MAIL],
    ['javascript:alert(1)', ADDRESS_OF_MAIL],
    [URL_OF_MAIL, 'a@b.example> <'],
  ])('refuse %j with %j to unsubscribe by', (url, address) => {
    expect(() => unsubscribeHeader(url, address)).toThrow(HeaderValueError);
  });
});

describe('system headers', () => {
  it('say that a machine wrote the mail, and name no list', () => {
    expect(systemHeaders()).toEqual([['Auto-Submitted', 'auto-generated']]);
  });
});
