import { NoAnswer } from '#cli/exchange'
import { Misuse, Refusal } from '#cli/exit-codes'
import { ConnectionLost, Problem } from '#client/client'

/** Texts for answers without a body. */
const statusTexts: Readonly<Record<number, string>> = {
  403: 'the caller has no permission for this',
  404: 'it does not exist, or the caller may not see it',
}

const workaround =
  'Create an API key (key add api) and set ADMIN_API_KEY, or stop the server and run the command ' +
  'again: it then works on the data folder, without a sign-in.'

/** Advice by the error of the server. */
const advice: Readonly<Record<string, string>> = {
  'use the DPoP scheme': `A password is not sufficient: the tenant does not permit the Basic scheme.\n${workaround}`,
  '2fa_required': `A password is not sufficient: a second factor is needed.\n${workaround}`,
  'invalid credentials':
    'Unknown name, wrong password, a disabled account, or a tenant with other sign-in hosts (--url).',
}

/** The text for a failed command. Only bugs of this program have a stack. */
export function failureText(error: unknown): string {
  if (error instanceof Problem) return problemText(error)
  if (error instanceof NoAnswer) return `${error.place}: ${error.message}`
  if (error instanceof ConnectionLost) {
    const { message } = new NoAnswer('', error)
    return error.message.endsWith(message) ? error.message : `${error.message}: ${message}`
  }
  if (error instanceof Refusal || error instanceof Misuse) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** The error of the server, the invalid fields of the request, and advice. */
function problemText({ status, body, details = [], retryAfterSeconds }: Problem): string {
  const { error, message } = Object(body) as { readonly error?: unknown; readonly message?: unknown }
  const reason = error ?? message ?? statusTexts[status]
  const lines = [
    `${status}${reason === undefined ? '' : ` ${reason}`}`,
    ...details.map(({ path, message }) => `  ${path}: ${message}`),
    ...(retryAfterSeconds === undefined ? [] : [`Try again in ${retryAfterSeconds} s.`]),
    ...(Object.hasOwn(advice, String(error)) ? [advice[String(error)]] : []),
  ]
  return lines.join('\n')
}
