import type { Config } from '#app/config'
import { type Finding, hint, ok, wrong } from '#cli/doctor/finding'
import { NoAnswer, requestPage } from '#cli/exchange'
import { trySmtp } from '#notifications/smtp-mail'

/** Connects and signs in to the mail server. */
export async function mailFinding({ smtpUrl }: Config): Promise<Finding> {
  const about = 'mail'
  if (smtpUrl === undefined) return ok(about, 'SMTP_URL is not set: mails are written to <DATA_DIR>/outbox')
  const { host } = new URL(smtpUrl)
  try {
    await trySmtp(smtpUrl)
    return ok(about, `${host} accepts mail from this machine`)
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error)
    return wrong(
      about,
      `${host}: ${withoutSecrets(said, smtpUrl)}`,
      'check SMTP_URL, its user and password, and the network',
    )
  }
}

/** The message of the server may contain the password. */
function withoutSecrets(said: string, smtpUrl: string): string {
  const { password } = new URL(smtpUrl)
  return password === '' ? said : said.replaceAll(decodeURIComponent(password), '…').replaceAll(password, '…')
}

const timeoutMs = 5_000

/** A refusal and a missing answer are problems. Does not check which devices the update server knows. */
export async function updateServerFinding({ updateServerUrl, updateServerToken }: Config): Promise<Finding> {
  const about = 'update server'
  if (updateServerUrl === undefined) return ok(about, 'the embedded one')
  const headers: Record<string, string> =
    updateServerToken === undefined ? {} : { authorization: `Bearer ${updateServerToken}` }
  try {
    const { status } = await requestPage(updateServerUrl, timeoutMs, headers)
    if (status === 401 || status === 403) {
      return wrong(about, `${updateServerUrl} refuses the token (${status})`, 'check UPDATE_SERVER_TOKEN')
    }
    if (status >= 500) return hint(about, `${updateServerUrl} answers ${status}`, 'check its log')
    return ok(about, `${updateServerUrl} answers`)
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error
    return wrong(about, `${updateServerUrl}: ${error.message}`, 'check UPDATE_SERVER_URL and the network')
  }
}
