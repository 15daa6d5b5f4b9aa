import { platformOf } from '#client/platform'

/** Time that runs `factor` times as fast. Clients have timeouts of half a minute. */
export function fasterTime(factor: number) {
  const began = Date.now()
  const { sleep } = platformOf({})
  return {
    now: () => began + (Date.now() - began) * factor,
    sleep: (ms: number, signal?: AbortSignal) => sleep(ms / factor, signal),
  }
}
