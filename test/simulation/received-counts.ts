import { counterId, counterService } from '#test/simulation/simulated-device'

/** The counts of a device's frames as a client receives them: none twice, and none out of order. */
export class ReceivedCounts {
  #counts = new Map<string, number>()

  forget(): void {
    this.#counts = new Map()
  }

  /** The violation, if any. */
  faultOf(event: Readonly<Record<string, unknown>>): string | undefined {
    if (event.serviceIdentifier !== counterService || event.type !== 'OBJECT_UPDATED') return undefined
    const device = String(event.deviceIdentifier)
    for (const { propId, tag, value } of event.updates as { propId: number; tag: string; value?: number }[]) {
      if (propId !== counterId || tag !== 'value' || value === undefined) continue
      const before = this.#counts.get(device) ?? 0
      if (value <= before) return `receives ${device} count ${value} after ${before}`
      this.#counts.set(device, value)
    }
    return undefined
  }
}
