import { z } from 'zod'
import { Refusal } from '#cli/ending'
import { type Answer, NoAnswer } from '#cli/exchange'

/** What answers that are no success hold. Contract 1.3. */
const Said = z.object({
  error: z.string().optional(),
  message: z.string().optional(),
  details: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
})
type Said = z.infer<typeof Said>

/** Of answers that say nothing themselves. */
const words: Readonly<Record<number, string>> = {
  403: 'this needs rights that were not given to who asks',
  404: 'there is no such thing, or who asks may not see it',
}

const wayRound =
  'Make an API key (key add api) and set ADMIN_API_KEY, or stop the server and run this again: ' +
  'it then works on the data folder, without signing in.'

/** What can be done about some of them. */
const advice: Readonly<Record<string, string>> = {
  'use the DPoP scheme': `A password alone signs nobody in here: the tenant does not take the Basic scheme.\n${wayRound}`,
  '2fa_required': `A password alone signs nobody in here: a second factor is needed.\n${wayRound}`,
  'invalid credentials':
    'Unknown name, wrong password, a disabled account, or a tenant that signs in under other hosts (--url).',
}

/** An answer that is no success, in words: what the server said, what of the request is wrong, what can be done. */
export function refusalOf(answer: Answer): Refusal {
  const { error, message, details = [] } = saidIn(answer)
  const said = error ?? message ?? words[answer.status]
  const again = answer.headers.get('retry-after')
  const lines = [
    `${answer.status}${said === undefined ? '' : ` ${said}`}`,
    ...details.map(({ path, message }) => `  ${path}: ${message}`),
    ...(again === null ? [] : [`Again in ${again} s.`]),
    ...directionIn(answer),
    ...(error !== undefined && Object.hasOwn(advice, error) ? [advice[error] ?? ''] : []),
  ]
  return new Refusal(lines.join('\n'), answer.status)
}

/** Where an answer leads that is none itself: nobody is shown a password there unasked. */
export function directionIn({ headers }: Answer): readonly string[] {
  const location = headers.get('location')
  return location === null ? [] : [`It points to ${location}: say so with --url, if that is it.`]
}

/** What stands between may answer with a page. */
function saidIn({ text }: Answer): Said {
  try {
    return Said.safeParse(JSON.parse(text)).data ?? {}
  } catch {
    return {}
  }
}

/** Of no answer a sentence that says whose. @throws Refusal; what the work throws else */
export async function refusing<T>(url: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof NoAnswer ? new Refusal(`${url}: ${error.message}`) : error
  }
}
