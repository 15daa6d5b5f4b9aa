import { z } from 'zod'
import { readToken } from '#api/basic-tokens'
import { readHealth } from '#api/health'
import { readMe } from '#api/identity'
import { logOut } from '#api/login'
import { ApiClient, nothing } from '#cli/api-client'
import type { Connection } from '#cli/connection'
import { Refusal } from '#cli/ending'
import { type Answer, exchange, NoAnswer } from '#cli/exchange'
import { directionIn, refusing } from '#cli/refused'

/** Who asks a running server: a key, or somebody with a password. */
export type Credentials =
  | { readonly apiKey: string }
  | {
      readonly name: string
      /** Not asked for before there is somebody to show it to. @throws Misuse where nobody can be asked */
      readonly password: (place: string) => Promise<string>
    }

/** Whoever listens and is ours says at once that he is well. */
const lookWithinMs = 10_000

export interface Meeting {
  /** What is wanted is no affair of users, so a server where nobody signs in is as good. */
  readonly mayBeOpen: boolean
  /** Why it can't be taken for the one that is meant; without it, whoever answers is. @throws NoAnswer */
  readonly doubt?: () => Promise<string | undefined>
}

/**
 * Signs in at a server. Undefined when nobody listens there.
 *
 * @throws Refusal when something else answers, or it lets nobody in by these credentials
 */
export async function signInAt(
  base: string,
  credentials: Credentials,
  { mayBeOpen, doubt = async () => undefined }: Meeting,
): Promise<Connection | undefined> {
  if (!(await isServing(base))) return undefined
  const why = await refusing(base, doubt)
  if (why !== undefined) {
    const what = `what answers at ${base} may be somebody else's, and is told nothing: ${why}`
    throw new Refusal(`${what}\nIf it is meant all the same, say so with --url.`)
  }
  if (await isOpen(base)) {
    if (mayBeOpen) return { client: new ApiClient(base, {}), close: async () => undefined }
    throw new Refusal(`IAM is off at ${base}: that server knows no users, roles, tenants, keys and sessions`)
  }
  if ('apiKey' in credentials) {
    return { client: new ApiClient(base, { 'x-api-key': credentials.apiKey }), close: async () => undefined }
  }
  const { name, password } = credentials
  const pair = `${name}:${await password(base)}`
  const basic = new ApiClient(base, { authorization: `Basic ${Buffer.from(pair).toString('base64')}` })
  const { token } = await basic.call(readToken, {}, z.looseObject({ token: z.string() }))
  const client = new ApiClient(base, { authorization: `Bearer ${token}` })
  return { client, close: () => signOut(client) }
}

/** Each session left behind would push out one of the same user's, in the end. Contract 2, Sessions. */
async function signOut(client: ApiClient): Promise<void> {
  try {
    await client.call(logOut, {}, nothing)
  } catch (error) {
    // What was asked for may have ended it already.
    if (!(error instanceof Refusal)) throw error
  }
}

/** Whether one of ours answers. @throws Refusal when something else does */
export async function isServing(base: string): Promise<boolean> {
  const answer = await looked(base + readHealth.path)
  if (!answer) return false
  if (answer.status === 200 && answer.text === '{"status":"ok"}') return true
  const what = `what answers at ${base} is no such server, or not well: ${answer.status}`
  throw new Refusal([what, ...directionIn(answer)].join('\n'))
}

/** Before anybody is asked for a password: with IAM off everybody is somebody. Contract 2. */
async function isOpen(base: string): Promise<boolean> {
  return (await looked(base + readMe.path))?.status === 200
}

async function looked(url: string): Promise<Answer | undefined> {
  return refusing(url, async () => {
    try {
      return await exchange(url, { withinMs: lookWithinMs })
    } catch (error) {
      if (error instanceof NoAnswer && error.isRefused) return undefined
      throw error
    }
  })
}
