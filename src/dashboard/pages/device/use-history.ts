import { useRef } from 'preact/hooks'
import type { DeviceView } from '#client/client'
import { client } from '#dashboard/session'
import { numberOf } from '#dashboard/values/format-value'
import { Ring } from '#dashboard/values/ring'

/** Enough for a line a hand wide; a device that reports each second is seen for five minutes. */
const pointsMax = 300

/** Takes note of every number at each rendering: a device is another object after each change. */
export function useHistory(device: DeviceView | undefined): Rings {
  const kept = useRef(new Rings())
  const seen = useRef<DeviceView>()
  if (device && device !== seen.current) {
    seen.current = device
    kept.current.note(device)
  }
  return kept.current
}

/** The numbers of a device since the page was opened. */
export class Rings {
  readonly #rings = new Map<string, Ring>()

  of(serviceIdentifier: string, propId: number): Ring {
    const key = `${serviceIdentifier}/${propId}`
    let ring = this.#rings.get(key)
    if (!ring) {
      ring = new Ring(pointsMax)
      this.#rings.set(key, ring)
    }
    return ring
  }

  note({ services }: DeviceView): void {
    for (const [serviceIdentifier, service] of services) {
      for (const [propId, { value, timestamp }] of service) {
        const number = numberOf(value)
        if (number !== undefined) this.of(serviceIdentifier, propId).add(timestamp ?? client.now(), number)
      }
    }
  }
}
