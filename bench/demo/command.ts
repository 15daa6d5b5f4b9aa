import { parseArgs } from 'node:util'
import { type WriteManner, writeManners } from '#bench/fleet/writes'

export interface DemoCommand {
  readonly devices: number
  readonly links: number | undefined
  /** Changes a second. */
  readonly rate: number
  /** 0: until Ctrl-C. */
  readonly seconds: number
  readonly port: number
  /** See `FleetOptions`; likewise the next. */
  readonly writes: WriteManner
  readonly flap: number
  readonly dataFolder: string
  readonly isHelp: boolean
}

export const demoHelp = `Usage: npm run demo -- [options]

The server, a simulated fleet and a dashboard, live in the terminal. Identity is off: nobody signs in, and the server
listens on 127.0.0.1 alone.

  --devices N    (1000)
  --links N      websockets that the devices share (as many as devices)
  --rate N       changes/s in all (2000)
  --seconds S    then stop; 0: until Ctrl-C (0)
  --writes HOW   how devices take writes: answer, slow, reject, never, mixed or none (answer)
  --flap N       every N frames of a device its level crosses 50 %; 0: it has none (0)
  --port N       (PORT of the environment, or 8080)
  --data DIR     (./data/demo)`

/** Reads the command line, and the port from the environment; throws a `RangeError` that says what is wrong. */
export function readDemoCommand(args: readonly string[], { PORT }: NodeJS.ProcessEnv): DemoCommand {
  const { values } = parseArgs({
    args: [...args],
    options: {
      devices: { type: 'string', default: '1000' },
      links: { type: 'string' },
      rate: { type: 'string', default: '2000' },
      seconds: { type: 'string', default: '0' },
      writes: { type: 'string', default: 'answer' },
      flap: { type: 'string', default: '0' },
      port: { type: 'string', default: PORT ?? '8080' },
      data: { type: 'string', default: './data/demo' },
      help: { type: 'boolean', default: false },
    },
  })
  return {
    devices: integer('devices', values.devices, 1, 100_000),
    links: values.links === undefined ? undefined : integer('links', values.links, 1, 100_000),
    rate: integer('rate', values.rate, 0, 10_000_000),
    seconds: integer('seconds', values.seconds, 0, 86_400),
    writes: manner(values.writes),
    flap: integer('flap', values.flap, 0, 1_000_000),
    port: integer('port', values.port, 1, 65_535),
    dataFolder: values.data,
    isHelp: values.help,
  }
}

function integer(name: string, text: string, low: number, high: number): number {
  const number = Number(text)
  if (text !== '' && Number.isInteger(number) && number >= low && number <= high) return number
  throw new RangeError(`--${name}: an integer from ${low} to ${high}; got '${text}'`)
}

function manner(text: string): WriteManner {
  const found = writeManners.find((each) => each === text)
  if (found) return found
  throw new RangeError(`--writes: one of ${writeManners.join(', ')}; got '${text}'`)
}
