/** Time that runs `factor` times as fast. Clients have timeouts of half a minute. */
export function fasterTime(factor: number) {
  const began = Date.now()
  return {
    now: () => began + (Date.now() - began) * factor,
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve) => {
        if (signal?.aborted) return resolve()
        const end = () => {
          clearTimeout(timer)
          signal?.removeEventListener('abort', end)
          resolve()
        }
        const timer = setTimeout(end, ms / factor)
        signal?.addEventListener('abort', end)
      }),
  }
}
