import { type UserRow, directoryAddress } from '#actors/directory/state'
import { isMailable } from '#model/mail-address'
import type { RouteContext } from '#routes/context'
import { mailOf } from '#notifications/mail'

/** How long an answer waits for the mail server. */
const mailAnswerMsMax = 10_000

/** A code for a user: an invitation, or a way to a new password. */
export interface MailedCode {
  readonly row: UserRow
  readonly code: string
  /** Unix ms. */
  readonly expiresAt: number
}

/**
 * Mails a link with the code to the user, once. Resolves to whether the mail server accepted the mail in time. If not,
 * the server may still accept it later. Undefined if no mail is sent: there is no mail server, no `PUBLIC_URL`, or no
 * address that can receive mail. In each case, the answer to the caller contains the code.
 */
export async function mailCode(
  context: RouteContext,
  { row, code, expiresAt }: MailedCode,
): Promise<boolean | undefined> {
  const { world, notifications } = context
  const { mail } = notifications
  const base = publicUrlFor(context, row)
  if (mail.kind !== 'smtp' || base === undefined || row.email === null || !isMailable(row.email)) return undefined
  const message = mailOf({
    mail,
    to: row.email,
    // Each code is mailed once.
    seed: `code\n${row.id}\n${code}`,
    date: world.now(),
    text: row.hasPassword
      ? reset(row.name, linkOf(base, row.name, code), expiresAt)
      : invitation(row.name, linkOf(base, row.name, code), expiresAt),
  })
  return new Promise((resolve) => {
    const cancel = world.after(mailAnswerMsMax, () => resolve(false))
    const settle = (isSent: boolean) => {
      cancel()
      resolve(isSent)
    }
    mail.send(message).then(
      () => settle(true),
      () => settle(false),
    )
  })
}

/** The first public URL at which the user's tenant may sign in. */
function publicUrlFor(
  { system, notifications: { publicUrls } }: RouteContext,
  { tenant }: UserRow,
): string | undefined {
  const hosts = system.wake(directoryAddress).tenants.get(tenant)?.hosts ?? []
  const isTenants = (url: string) => hosts.includes(new URL(url).host) || hosts.includes(new URL(url).hostname)
  return hosts.length === 0 ? publicUrls[0] : publicUrls.find(isTenants)
}

/** The dashboard's page for the code. The part after `#` reaches no server and no log. */
function linkOf(base: string, name: string, code: string): string {
  return `${base.replace(/\/$/, '')}/#/sign-up/${encodeURIComponent(name)}/${code}`
}

function invitation(name: string, link: string, expiresAt: number) {
  return {
    subject: 'Your invitation',
    text: `Hello ${name},\n\nyou are invited to Device Data Backend. Choose a password with this link:\n\n${link}\n\n${validity(expiresAt)}`,
  }
}

function reset(name: string, link: string, expiresAt: number) {
  return {
    subject: 'Choose a new password',
    text: `Hello ${name},\n\nan administrator created this link for you to choose a new password:\n\n${link}\n\nYour present password works until you choose another one. ${validity(expiresAt)}`,
  }
}

function validity(expiresAt: number): string {
  return `The link works once, until ${new Date(expiresAt).toUTCString()}. If you did not expect this mail, ignore it.\n`
}
