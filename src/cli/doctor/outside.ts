import type { Config } from '#app/config'
import { type Finding, hint, ok, wrong } from '#cli/doctor/finding'
import { exchange, NoAnswer } from '#cli/exchange'
import { trySmtp } from '#notifications/smtp-mail'

/** Whom the server itself asks. */

export async function mailFinding({ smtpUrl }: Config): Promise<Finding> {
  const about = 'mail'
  if (smtpUrl === undefined) return ok(about, 'SMTP_URL is not set: mails are put into <DATA_DIR>/outbox')
  const { host } = new URL(smtpUrl)
  try {
    await trySmtp(smtpUrl)
    return ok(about, `${host} takes mail from here`)
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error)
    return wrong(
      about,
      `${host}: ${withoutSecrets(said, smtpUrl)}`,
      'SMTP_URL, its user and password, and the way there',
    )
  }
}

/** A server may say again what it was told. */
function withoutSecrets(said: string, smtpUrl: string): string {
  const { password } = new URL(smtpUrl)
  return password === '' ? said : said.replaceAll(decodeURIComponent(password), '…').replaceAll(password, '…')
}

const withinMs = 5_000

/** Any answer but those that say no to all we ask will do: what it knows of which device is its own affair. */
export async function updateServerFinding({ updateServerUrl, updateServerToken }: Config): Promise<Finding> {
  const about = 'update server'
  if (updateServerUrl === undefined) return ok(about, 'the embedded one')
  const headers: Record<string, string> =
    updateServerToken === undefined ? {} : { authorization: `Bearer ${updateServerToken}` }
  try {
    const { status } = await exchange(updateServerUrl, withinMs, headers)
    if (status === 401 || status === 403) {
      return wrong(about, `${updateServerUrl} lets nobody in by that token (${status})`, 'UPDATE_SERVER_TOKEN')
    }
    if (status >= 500) return hint(about, `${updateServerUrl} answers ${status}`, 'look at its log')
    return ok(about, `${updateServerUrl} answers`)
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error
    return wrong(about, `${updateServerUrl}: ${error.message}`, 'UPDATE_SERVER_URL, and the way there')
  }
}
