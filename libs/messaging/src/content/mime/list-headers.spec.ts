import { describe, expect, it } from '@jest/globals';
import { octetsOf } from '#platform';
import { listHeaders, systemHeaders } from './list-headers.js';
import { buildMimeMessage, HeaderValueError } from './mime-message.js';

const INPUT = {
  listId: 'acmt-1.acme.mail.example',
  listName: 'News, weekly',
  unsubscribeUrl: `https://mail.example/u/${'t'.repeat(200)}`,
  unsubscribeMailto: 'unsubscribe+token@mail.example',
  feedbackId: 'ACMC-1:ACMT-1:campaign:acme',
};

describe('list headers', () => {
  it('offer one-click unsubscription by web and by mail', () => {
    expect(listHeaders(INPUT)).toEqual([
      ['List-Id', '"News, weekly" <acmt-1.acme.mail.example>'],
      ['List-Unsubscribe', `<${INPUT.unsubscribeUrl}>, <mailto:unsubscribe+token@mail.example>`],
      ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
      ['Feedback-ID', 'ACMC-1:ACMT-1:campaign:acme'],
      ['Precedence', 'bulk'],
    ]);
  });

  it('leave out the mail address when there is none', () => {
    expect(listHeaders({ ...INPUT, unsubscribeMailto: null })[1]).toEqual([
      'List-Unsubscribe',
      `<${INPUT.unsubscribeUrl}>`,
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
      headers: listHeaders({
        ...INPUT,
        listName: 'Wöchentliche Neuigkeiten für alle, die sie lesen möchten 📰',
      }),
    });
    const wire = octetsOf(message).toString();
    expect(wire).toContain(`\r\nList-Unsubscribe: <${INPUT.unsubscribeUrl}>,\r\n <mailto:`);
    expect(wire).toContain('\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n');
    expect(wire).toMatch(/\r\nList-Id: =\?UTF-8\?/);
    expect(wire).not.toMatch(/[^\r\n -~]/);
  });

  it.each([
    { listId: 'not a list id' },
    { listId: 'a.b>\r\nX: y' },
    { listName: 'News\r\nBcc: x' },
    { unsubscribeUrl: 'https://a.example/>, <https://evil.example' },
    { unsubscribeUrl: 'https://a.example/ x' },
    { unsubscribeUrl: 'javascript:alert(1)' },
    { unsubscribeMailto: 'a@b.example> <' },
    { feedbackId: 'a b\r\n' },
  ])('refuse %j', (change) => {
    expect(() => listHeaders({ ...INPUT, ...change })).toThrow(HeaderValueError);
  });
});

describe('system headers', () => {
  it('say that a machine wrote the mail, and name no list', () => {
    expect(systemHeaders()).toEqual([['Auto-Submitted', 'auto-generated']]);
  });
});
