/** A report as Sendmail writes it of a plain 550: the status and the last line of the transcript are Sendmail's own. */
export function sendmailReport(reply: string): Buffer {
  return Buffer.from(`From: Mail Delivery Subsystem <MAILER-DAEMON@relay.example>
Subject: Returned mail: see transcript for details
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="part"

--part

   ----- The following addresses had permanent fatal errors -----
<ada@example.com>
    (reason: 550 ${reply})

   ----- Transcript of session follows -----
... while talking to mx.example.com.:
>>> RCPT To:<ada@example.com>
<<< 550 ${reply}
550 5.1.1 <ada@example.com>... User unknown

--part
Content-Type: message/delivery-status

Reporting-MTA: dns; relay.example

Final-Recipient: RFC822; ada@example.com
Action: failed
Status: 5.1.1
Remote-MTA: DNS; mx.example.com
Diagnostic-Code: SMTP; 550 ${reply}

--part
Content-Type: text/rfc822-headers

Message-ID: <019be3f0-4c11-7a62-9d0c-2f1a6b0f5c77@shop.example>

--part--
`);
}
