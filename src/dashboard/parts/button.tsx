import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { problemText } from '#dashboard/parts/problem-text'
import { say } from '#dashboard/parts/toasts'
import { after } from '#dashboard/world'

export interface ButtonProps {
  /** Runs when pressed; while its promise is open the button is busy, and a failure stands beside it. */
  readonly onPress?: (() => unknown) | undefined
  readonly kind?: 'primary' | 'danger' | 'quiet' | undefined
  /** Busy for another reason than its own press. */
  readonly isBusy?: boolean | undefined
  readonly isDisabled?: boolean | undefined
  /** Of a form: what pressing it means stands at the form. */
  readonly type?: 'button' | 'submit' | undefined
  /** What it is called where its content does not say so. */
  readonly label?: string | undefined
  readonly isPressed?: boolean | undefined
  /** Whether what it opens is open. */
  readonly isExpanded?: boolean | undefined
  readonly children: ComponentChildren
}

export function Button(props: ButtonProps) {
  const { onPress, kind, isBusy, isDisabled, type = 'button', label, isPressed, isExpanded, children } = props
  const { isRunning, isSlow, problem, run } = useAction(onPress)
  const isWaiting = isRunning || isBusy === true
  return (
    <>
      <button
        type={type}
        class={`button ${kind ?? ''}`}
        disabled={isDisabled}
        aria-disabled={isWaiting || undefined}
        aria-busy={isWaiting || undefined}
        aria-label={label}
        aria-pressed={isPressed}
        aria-expanded={isExpanded}
        onClick={(event) => {
          if (isWaiting) event.preventDefault()
          else if (onPress) run()
        }}
      >
        {isWaiting && <span class="spinner" aria-hidden="true" />}
        {children}
      </button>
      {isSlow && <Slow />}
      {problem !== undefined && (
        <span class="problem" role="alert">
          {problemText(problem)}
        </span>
      )}
    </>
  )
}

/** Said of what has no answer yet. */
export function Slow() {
  return (
    <span class="hint" role="status">
      No answer yet: still waiting for one.
    </span>
  )
}

/** By then whoever waits wonders. */
const slowMs = 5_000

/**
 * Runs something of a person's at most once at a time, and keeps what it failed with until the next run. Where nobody is
 * left to show that, it is said at the edge of the page.
 */
export function useAction(action: (() => unknown) | undefined) {
  const [isRunning, setRunning] = useState(false)
  const [isSlow, setSlow] = useState(false)
  const [problem, setProblem] = useState<unknown>(undefined)
  const isThere = useRef(true)
  useEffect(() => {
    isThere.current = true
    return () => {
      isThere.current = false
    }
  }, [])

  const run = () => {
    setProblem(undefined)
    let outcome: unknown
    try {
      outcome = action?.()
    } catch (thrown) {
      fail(thrown)
      return
    }
    if (!(outcome instanceof Promise)) return
    setRunning(true)
    const stopWaiting = after(slowMs, () => isThere.current && setSlow(true))
    outcome.catch(fail).finally(() => {
      stopWaiting()
      if (!isThere.current) return
      setRunning(false)
      setSlow(false)
    })
  }
  const fail = (thrown: unknown) => {
    if (isThere.current) setProblem(thrown)
    else say(problemText(thrown), 'failed')
  }
  return { isRunning, isSlow, problem, run }
}
