import type { ComponentChildren } from 'preact'

/** The tone of a status, shown by colour and shape. */
type Tone = 'good' | 'busy' | 'warning' | 'bad' | 'quiet'

const marks: Readonly<Record<Tone, string>> = { good: '●', busy: '◐', warning: '▲', bad: '✕', quiet: '○' }

/** Other words are mostly stages of a process, such as an update: busy. */
const tones: Readonly<Record<string, Tone>> = {
  online: 'good',
  live: 'good',
  done: 'good',
  ok: 'good',
  enabled: 'good',
  current: 'good',
  active: 'good',
  idle: 'warning',
  warning: 'warning',
  paused: 'warning',
  reconnecting: 'warning',
  stale: 'warning',
  offline: 'quiet',
  closed: 'quiet',
  inactive: 'quiet',
  disabled: 'quiet',
  critical: 'bad',
  failed: 'bad',
  refused: 'bad',
  rejected: 'bad',
}

export interface StatusProps {
  /** A word such as `online`, `FAILED`, `critical`. */
  readonly state: string
  /** For words with another meaning than usual: an `active` alarm is not good. */
  readonly tone?: Tone | undefined
  /** Shown in place of the word. */
  readonly children?: ComponentChildren
}

export function Status({ state, tone = tones[state.toLowerCase()] ?? 'busy', children }: StatusProps) {
  return (
    <span class={`status ${tone}`}>
      <span class="mark" aria-hidden="true">
        {marks[tone]}
      </span>
      {children ?? state.toLowerCase().replaceAll('_', ' ')}
    </span>
  )
}

export interface BadgeProps {
  readonly tone?: Tone
  readonly children: ComponentChildren
}

export function Badge({ tone = 'quiet', children }: BadgeProps) {
  return <span class={`badge ${tone}`}>{children}</span>
}
