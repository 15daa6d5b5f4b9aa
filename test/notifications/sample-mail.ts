import type { MailMessage } from '#notifications/mail'

/** A mail that differs by `n`. */
export function sampleMail(n = 0, more: Partial<MailMessage> = {}): MailMessage {
  return {
    id: `${String(n).padStart(32, 'a')}@devices.example`,
    date: 1_700_000_000_000 + n,
    from: 'Devices <devices@devices.example>',
    to: 'ann@people.example',
    subject: `Boiler ${n}`,
    text: `It is too hot: ${n}.`,
    ...more,
  }
}
