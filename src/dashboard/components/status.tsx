import type { ComponentChildren } from 'preact'

/** A status by colour, shape and word. */
export type Tone = 'good' | 'busy' | 'warning' | 'bad' | 'quiet'

const marks: Readonly<Record<Tone, string>> = { good: '●', busy: '◐', warning: '▲', bad: '✕', quiet: '○' }

const tones: Readonly<Record<string, Tone>> = {
  online: 'good',
  live: 'good',
  done: 'good',
  ok: 'good',
  enabled: 'good',
  current: 'good',
  idle: 'warning',
  warning: 'warning',
  stale: 'warning',
  reconnecting: 'warning',
  paused: 'warning',
  invited: 'busy',
  offline: 'quiet',
  inactive: 'quiet',
  disabled: 'quiet',
  closed: 'quiet',
  info: 'busy',
  critical: 'bad',
  failed: 'bad',
  refused: 'bad',
  rejected: 'bad',
}

/** Other words are mostly stages of a process, such as an update. */
function toneOf(state: string): Tone {
  return tones[state.toLowerCase()] ?? (state.toLowerCase() === 'active' ? 'good' : 'busy')
}

export interface StatusProps {
  /** A word such as `online`, `FAILED`, `critical`. */
  readonly state: string
  /** For words with another meaning than usual: an `active` alarm is not good. */
  readonly tone?: Tone | undefined
  /** Shown in place of the word. */
  readonly children?: ComponentChildren
}

export function Status({ state, tone = toneOf(state), children }: StatusProps) {
  return (
    <span class={`status ${tone}`}>
      <span class="mark" aria-hidden="true">
        {marks[tone]}
      </span>
      {children ?? state.toLowerCase().replaceAll('_', ' ')}
    </span>
  )
}

export function Badge({
  tone = 'quiet',
  children,
}: {
  readonly tone?: Tone | undefined
  readonly children: ComponentChildren
}) {
  return <span class={`badge ${tone}`}>{children}</span>
}
