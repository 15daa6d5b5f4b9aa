import type { FleetSecond } from '#bench/fleet/counts'

export interface DemoSecond {
  readonly seconds: number
  readonly fleet: FleetSecond
  readonly eventsPerSecond: number
  readonly changesOutPerSecond: number
  readonly dashboardState: string
  /** Undefined where the system does not report it. */
  readonly cpuPercent: number | undefined
  readonly residentBytes: number | undefined
  readonly samples: readonly string[]
}

/** Shows the demo: redrawn in place on a terminal, otherwise as one line a second. */
export class DemoScreen {
  readonly #out: NodeJS.WriteStream
  #drawnLines = 0

  constructor(out: NodeJS.WriteStream) {
    this.#out = out
  }

  show(second: DemoSecond): void {
    if (this.#out.isTTY) this.#redraw(second)
    else this.#out.write(`${plainLine(second)}\n`)
  }

  #redraw(second: DemoSecond): void {
    const width = Math.max(20, this.#out.columns || 80)
    const lines = screenLines(second).map((line) => line.slice(0, width - 1))
    const up = this.#drawnLines > 0 ? `\x1b[${this.#drawnLines}A` : ''
    this.#out.write(`${up}\x1b[0J${lines.join('\n')}\n`)
    this.#drawnLines = lines.length
  }
}

function screenLines(second: DemoSecond): readonly string[] {
  const { fleet } = second
  const latency = fleet.latencyMs
  return [
    `  running            ${second.seconds} s`,
    `  devices            ${fleet.devicesOnline} of ${fleet.devices} connected`,
    `  changes in         ${grouped(fleet.changesPerSecond)}/s acknowledged`,
    `  events out         ${grouped(second.eventsPerSecond)}/s (${grouped(second.changesOutPerSecond)} changes/s) to one dashboard, ${second.dashboardState}`,
    `  acknowledgement    p50 ${milliseconds(latency.p50)}   p99 ${milliseconds(latency.p99)}   max ${milliseconds(latency.max)}`,
    `  server             CPU ${percent(second.cpuPercent)}   memory ${megabytes(second.residentBytes)}`,
    ...(fleet.faultCount > 0 ? [`  FAULTS             ${fleet.faultCount}`] : []),
    '',
    ...second.samples.map((sample) => `  ${sample}`),
  ]
}

function plainLine(second: DemoSecond): string {
  const { fleet } = second
  const sample = second.samples[second.seconds % Math.max(1, second.samples.length)]
  return [
    `${second.seconds} s`,
    `${fleet.devicesOnline}/${fleet.devices} devices`,
    `${fleet.changesPerSecond} changes/s in`,
    `${second.eventsPerSecond} events/s out`,
    `ack p50 ${milliseconds(fleet.latencyMs.p50)} p99 ${milliseconds(fleet.latencyMs.p99)}`,
    `CPU ${percent(second.cpuPercent)}`,
    `memory ${megabytes(second.residentBytes)}`,
    ...(sample === undefined ? [] : [sample.replace(/ {2,}/g, ' ')]),
  ].join('  ')
}

const grouped = (count: number): string => count.toLocaleString('en-US')
const milliseconds = (ms: number): string => `${ms.toFixed(1)} ms`
const percent = (value: number | undefined): string => (value === undefined ? '–' : `${value.toFixed(0)} %`)
const megabytes = (bytes: number | undefined): string =>
  bytes === undefined ? '–' : `${Math.round(bytes / 2 ** 20)} MB`
