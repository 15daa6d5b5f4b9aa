/** From this machine, where a server listens that was told to listen at `host`. */
export function nearOf(host: string): string {
  return { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host
}
