import type { DeviceKind, SimulatedProperty } from '#bench/fleet/kinds'

const samplesMax = 8

/**
 * Shows the demo: redrawn in place on a terminal, otherwise as one line a second. It lists the latest values of some
 * properties, for one device of each kind, with the names and units of the schemas.
 */
export class DemoScreen {
  readonly #out: NodeJS.WriteStream
  #drawnLines = 0
  readonly #properties: ReadonlyMap<string, SimulatedProperty>
  /** The latest values, by device and name of the property. */
  readonly #shown = new Map<string, string>()
  /** By kind, the device that is shown. */
  readonly #devices = new Map<string, string>()

  constructor(out: NodeJS.WriteStream, kinds: readonly DeviceKind[]) {
    this.#out = out
    this.#properties = new Map(
      kinds.flatMap(({ services }) =>
        services.flatMap(({ serviceIdentifier, properties }) =>
          properties.map((property) => [`${serviceIdentifier}/${property.propId}`, property] as const),
        ),
      ),
    )
  }

  receive({ deviceIdentifier, serviceIdentifier, updates }: Readonly<Record<string, unknown>>): void {
    if (typeof deviceIdentifier !== 'string' || !Array.isArray(updates)) return
    const [, kind = ''] = deviceIdentifier.split('-')
    if (!this.#devices.has(kind)) this.#devices.set(kind, deviceIdentifier)
    if (this.#devices.get(kind) !== deviceIdentifier) return
    for (const { propId, value } of updates as { propId: number; value?: unknown }[]) {
      const property = this.#properties.get(`${String(serviceIdentifier)}/${propId}`)
      const key = `${deviceIdentifier} ${property?.name}`
      if (!property || property.isConstant || (!this.#shown.has(key) && this.#shown.size >= samplesMax)) continue
      this.#shown.set(key, readable(property, value))
    }
  }

  /** Shows these lines, and the values. `seconds`: since the start. */
  show(seconds: number, lines: readonly string[]): void {
    const samples = [...this.#shown].map(([key, value]) => `${key.padEnd(34)} ${value}`).sort()
    if (this.#out.isTTY) {
      this.#redraw([...lines, '', ...samples])
      return
    }
    // Each line shows one of the samples, in turn.
    const next = seconds % samplesMax
    this.#out.write(`${[...lines, ...samples.slice(next, next + 1)].join('  ').replace(/ {3,}/g, ' ')}\n`)
  }

  #redraw(lines: readonly string[]): void {
    const width = Math.max(20, this.#out.columns || 80)
    const up = this.#drawnLines > 0 ? `\x1b[${this.#drawnLines}A` : ''
    this.#out.write(`${up}\x1b[0J${lines.map((line) => `  ${line}`.slice(0, width - 1)).join('\n')}\n`)
    this.#drawnLines = lines.length
  }
}

function readable({ unit, enumeration }: SimulatedProperty, value: unknown): string {
  const name = typeof value === 'number' ? enumeration?.[value] : undefined
  return (name ?? short(value)) + (unit === undefined ? '' : ` ${unit}`)
}

function short(value: unknown): string {
  if (Array.isArray(value)) return value.map(short).join(' / ')
  return typeof value === 'number' && !Number.isInteger(value) ? value.toFixed(1) : String(value)
}
