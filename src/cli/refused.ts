import { Misuse, Refusal } from '#cli/ending'
import { NoAnswer } from '#cli/exchange'
import { ConnectionLost, Problem } from '#client/client'

/** For answers without a body. */
const words: Readonly<Record<number, string>> = {
  403: 'this needs rights that were not given to who asks',
  404: 'there is no such thing, or who asks may not see it',
}

const wayRound =
  'Make an API key (key add api) and set ADMIN_API_KEY, or stop the server and run this again: ' +
  'it then works on the data folder, without signing in.'

/** A way out, by the error that the server answers. */
const advice: Readonly<Record<string, string>> = {
  'use the DPoP scheme': `A password alone signs nobody in here: the tenant does not take the Basic scheme.\n${wayRound}`,
  '2fa_required': `A password alone signs nobody in here: a second factor is needed.\n${wayRound}`,
  'invalid credentials':
    'Unknown name, wrong password, a disabled account, or a tenant that signs in under other hosts (--url).',
}

/** Why a command did not succeed. Only an error of this program itself is shown with its stack. */
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

/** The error that the server answers, the wrong parts of the request, and a way out. */
function problemText({ status, body, details = [], retryAfterSeconds }: Problem): string {
  const { error, message } = Object(body) as { readonly error?: unknown; readonly message?: unknown }
  const said = error ?? message ?? words[status]
  const lines = [
    `${status}${said === undefined ? '' : ` ${said}`}`,
    ...details.map(({ path, message }) => `  ${path}: ${message}`),
    ...(retryAfterSeconds === undefined ? [] : [`Again in ${retryAfterSeconds} s.`]),
    ...(Object.hasOwn(advice, String(error)) ? [advice[String(error)]] : []),
  ]
  return lines.join('\n')
}
