import { loadedBefore } from '#bench/harness/servers'
import type { EndRules } from '#bench/load/end-counts'
import { type LoginKind, loginKinds } from '#bench/load/login-requests'
import { bodies, heads, rulesOf, slowPhases, stillOpen } from '#bench/proof/overload/raw-requests'

/** The size of a case: full or reduced. */
export interface CaseSize {
  readonly rated: number
  /** A factor for everything that is counted in thousands; full size: 1. */
  readonly scale: number
  readonly seconds: number
  readonly seed: number
}

export interface OverloadCase {
  readonly about: string
  readonly seconds: number
  /** Maximum private memory of the server. The operator guide explains the value. */
  readonly capMib: number
  readonly nodeArguments?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly rules: EndRules
  /**
   * The attack, below `bench`: a program with the functions `open`, `run` and, if needed, `settle`, `frameCounts`,
   * `close`.
   */
  readonly program: string
  options(size: CaseSize): object
}

/** A flood is this many times the rated load. */
const floodTimes = 10

/** The ends that are allowed for frames, and the answers of the server to links that send too much. */
const ofLinks = ['sent', 'held back', 'ERROR OVERLOADED', 'close 1013'] as const

const counted = 'proof/overload/counted-load'
const dashboards = 'proof/overload/dashboards'
const rawClients = 'proof/overload/raw-clients'
const flooding = { prefix: 'FLOOD', service: '5f2a7c10-0001-4b6d-9e3f-a0000000000b' } as const

const flood = (size: CaseSize) => ({
  ...{ ...flooding, devices: scaled(10_000, size, 50), links: 50, seed: size.seed },
  framesPerSecond: size.rated * floodTimes,
})

/** A flood exceeds the default retention, and the whole stream is read again afterwards. */
const ofFloods = { capMib: 640, environment: { STREAM_RETENTION_MB: '16384' }, program: counted } as const

const ofStalled = [
  ['closed with 4408', 'still open at the end'],
  ['reads in time: close 4408', 'still open at the end'],
  ['reads too late: cut without a close frame', 'still open at the end'],
] as const

export const overloadCases: Readonly<Record<string, OverloadCase>> = {
  flood: {
    about: 'ten times the rated load',
    ...ofFloods,
    seconds: 60,
    rules: { allowed: ofLinks, needed: [['sent']] },
    options: flood,
  },
  'slow-disk': {
    about: 'the same, with each commit delayed by 50 ms',
    ...ofFloods,
    seconds: 60,
    nodeArguments: loadedBefore('harness/slow-commits'),
    rules: { allowed: ofLinks, needed: [['sent']] },
    options: flood,
  },
  greedy: {
    about: 'the same from links that wait for no acknowledgement',
    ...ofFloods,
    seconds: 15,
    rules: { allowed: ofLinks, needed: [['ERROR OVERLOADED'], ['close 1013']] },
    options: (size) => ({
      ...{ ...flood(size), links: 5, paceWindow: Number.MAX_SAFE_INTEGER, gatherMs: 1_000, disconnectsAfterRun: true },
    }),
  },
  reconnects: {
    about: '15 000 links that close and reconnect at the same time',
    seconds: 15,
    capMib: 512,
    rules: { allowed: ['back'], needed: [['back']] },
    program: counted,
    options: (size) => {
      const devices = scaled(15_000, size)
      const framesPerSecond = 1_500 * size.scale
      return { ...flooding, devices, links: devices, framesPerSecond, seed: size.seed, isStorm: true }
    },
  },
  sockets: {
    about: '15 000 dashboards that connect at once, stay, and receive rare events',
    seconds: 15,
    capMib: 512,
    rules: { allowed: ['received everything'], needed: [['received everything']] },
    program: dashboards,
    options: (size) => ({ sockets: scaled(15_000, size) }),
  },
  stalled: {
    about: '1 000 dashboards that subscribe to everything and read nothing',
    seconds: 160,
    capMib: 1_280,
    // A client that is still connected read again before the server had closed its connection.
    rules: { allowed: [...ofStalled.flat(), 'reads in time: still connected'], needed: ofStalled },
    program: dashboards,
    options: (size) => ({ sockets: scaled(1_000, size), isStalled: true }),
  },
  logins: {
    about: '1 000 logins a second, most of them guesses: from many addresses, from one, and at one account',
    seconds: 15,
    capMib: 512,
    rules: loginRules(),
    program: 'load/logins',
    options: ({ scale, seconds }) => ({
      ...{ perSecond: 1_000 * scale, seconds: Math.min(seconds, guessesHeldSecondsMax), isAttack: true },
    }),
  },
  bodies: {
    about: 'bodies of a gigabyte, with a length and in chunks',
    seconds: 15,
    capMib: 512,
    rules: rulesOf(bodies),
    program: rawClients,
    options: (size) => ({ parts: 'bodies', each: scaled(4, size) }),
  },
  slow: {
    about: 'slow clients (Slowloris) in every phase of a connection',
    seconds: 130,
    capMib: 640,
    rules: rulesOf(slowPhases, stillOpen),
    // One user makes the requests in four of the phases, and may have 1 000 at the same time.
    program: rawClients,
    options: (size) => ({ parts: 'slow', each: scaled(100, size) }),
  },
  heads: {
    about: 'many request heads at the size limit or above it',
    seconds: 15,
    capMib: 512,
    // On a busy machine, more clients write when the server closes (`mayReset`), but most must receive 431.
    rules: { ...rulesOf(heads), rareShareMax: 0.5 },
    program: rawClients,
    options: (size) => ({ parts: 'heads', each: scaled(32, size) }),
  },
}

function scaled(count: number, { scale }: CaseSize, step = 1): number {
  return Math.max(1, Math.round((count * scale) / step)) * step
}

/**
 * An account with too many failed logins before the attack must wait for a minute from then on: the attack is over by
 * then.
 */
const guessesHeldSecondsMax = 30

function loginRules(): EndRules {
  const { right, stranger, atOne, fromOne, again } = loginKinds
  const ends = (how: string, ...kinds: readonly LoginKind[]) => kinds.map(({ what }) => `${what}: ${how}`)
  const isRight = ends('200', right)
  const isWrong = ends('401', stranger)
  // Refused before the queue, when the account has not been looked up yet.
  const tooMany = ends('429', fromOne, atOne, again)
  // Refused because the queue is too long. Guessed passwords are not checked: they get no 401, and cost no hash.
  const noRoom = ends('503', right, stranger, atOne, again)
  return {
    allowed: [...isRight, ...isWrong, ...tooMany, ...noRoom],
    needed: [isRight, isWrong, ends('503', right, stranger), ...tooMany.map((end) => [end])],
  }
}
