import { observable, useObservable } from '#dashboard/components/use-observable'
import { runAfter } from '#dashboard/timers'

/** Short messages about events, shown once at the edge of the page and announced to screen readers. */

interface Toast {
  readonly id: number
  readonly text: string
  readonly kind: 'done' | 'failed'
}

const toasts = observable<readonly Toast[]>([])
/** Failures stay longer: the part of the page that would also show them may be gone. */
const shownMs = { done: 6_000, failed: 20_000 } as const
const toastsMax = 5
let lastId = 0

export function notify(text: string, kind: Toast['kind'] = 'done'): void {
  lastId += 1
  const toast = { id: lastId, text, kind }
  toasts.set([...toasts.value.slice(1 - toastsMax), toast])
  runAfter(shownMs[kind], () => dismiss(toast.id))
}

export function Toasts() {
  const shown = useObservable(toasts)
  const failed = shown.filter(({ kind }) => kind === 'failed')
  const done = shown.filter(({ kind }) => kind === 'done')
  return (
    <div class="toasts">
      <div role="alert">{failed.map(toastElement)}</div>
      <div role="status">{done.map(toastElement)}</div>
    </div>
  )
}

function toastElement({ id, text, kind }: Toast) {
  return (
    <p key={id} class={`toast ${kind === 'failed' ? 'bad' : 'good'}`}>
      <span aria-hidden="true">{kind === 'failed' ? '✕' : '✓'}</span> <span>{text}</span>
      <button type="button" class="button quiet" aria-label="Dismiss" onClick={() => dismiss(id)}>
        ×
      </button>
    </p>
  )
}

function dismiss(id: number): void {
  toasts.set(toasts.value.filter((toast) => toast.id !== id))
}
