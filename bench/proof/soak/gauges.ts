/** The measured quantities of the server, and how much each may grow a minute. */
export interface Gauge {
  readonly title: string
  readonly unit: string
  /** Of what is read, one unit. */
  readonly scale: number
  readonly digits: number
  /** It grows when the least that its slope may be is above this; absent: it is only shown. Units a minute. */
  readonly growthMax?: number
  /** It is not known whether it grows when the most that its slope may be is above this. Units a minute. */
  readonly doubtMax?: number
}

const megabyte = 1e6

/**
 * What stands in memory for a day because somebody was promised it is paid for by the bounds: when to forget what became of
 * actions, and sessions (some 150 a minute, of 160 bytes), and names of mails (200 a minute, of 60, up to 10 000). Beyond that
 * they are what half an hour can tell from noise.
 */
export const gauges = {
  live: {
    title: 'memory in use after a collection',
    unit: 'MB',
    scale: megabyte,
    digits: 1,
    growthMax: 0.1,
    doubtMax: 1,
  },
  code: { title: 'compiled code', unit: 'MB', scale: megabyte, digits: 1, growthMax: 0.5 },
  resident: { title: 'resident memory', unit: 'MB', scale: megabyte, digits: 0, growthMax: 0.5, doubtMax: 5 },
  anonymous: {
    title: 'of that, without mapped files',
    unit: 'MB',
    scale: megabyte,
    digits: 0,
  },
  own: {
    title: 'of that, without what LevelDB holds',
    unit: 'MB',
    scale: megabyte,
    digits: 0,
    growthMax: 0.5,
    doubtMax: 5,
  },
  heap: { title: 'heap used', unit: 'MB', scale: megabyte, digits: 0 },
  heapTotal: { title: 'what the heap takes', unit: 'MB', scale: megabyte, digits: 0 },
  store: { title: 'what LevelDB holds, up to 64 MB', unit: 'MB', scale: megabyte, digits: 1 },
  external: { title: 'outside the heap', unit: 'MB', scale: megabyte, digits: 1 },
  descriptors: { title: 'open descriptors', unit: '', scale: 1, digits: 0, growthMax: 0.5, doubtMax: 5 },
  actors: { title: 'actors in memory', unit: '', scale: 1, digits: 0 },
  reminders: { title: 'actors that are woken at a time', unit: '', scale: 1, digits: 0 },
  database: { title: 'database', unit: 'MB', scale: megabyte, digits: 0, growthMax: 5 },
  stream: { title: 'of that, the stream', unit: 'MB', scale: megabyte, digits: 0 },
  heardP50: { title: 'events heard, p50', unit: 'ms', scale: 1, digits: 1 },
  heardP99: { title: 'events heard, p99', unit: 'ms', scale: 1, digits: 1 },
} as const satisfies Readonly<Record<string, Gauge>>

export type GaugeName = keyof typeof gauges
