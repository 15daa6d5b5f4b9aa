import type { Environment } from '#test/blackbox/started-server'

/** For a server whose clock is ahead of ours: as if it had been down for so long. Its timers are as they are. */
export function clockAhead(ms: number): Environment {
  const code = `const now = Date.now; Date.now = () => now() + ${ms}`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` }
}
