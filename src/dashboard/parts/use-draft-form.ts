import { useState } from 'preact/hooks'
import { ExplainedError, statusOf } from '#dashboard/parts/problem-text'

export interface DraftFormOptions {
  /** Whether the draft differs from the saved value; a new one always does. */
  readonly isDirty?: boolean | undefined
  readonly onDirty?: (() => void) | undefined
}

/** Shared by forms with their own page: refused fields show their fault, and leaving asks after a change. */
export function useDraftForm({ isDirty = true, onDirty }: DraftFormOptions) {
  const [problem, setProblem] = useState<unknown>(undefined)
  const [isTouched, setTouched] = useState(false)
  const touch = () => {
    setTouched(true)
    onDirty?.()
  }
  /** `unreachable`: the text for 404. */
  const send = async (submit: () => Promise<void>, unreachable: string) => {
    setProblem(undefined)
    try {
      await submit()
    } catch (thrown) {
      setProblem(thrown)
      throw statusOf(thrown) === 404 ? new ExplainedError(unreachable, thrown) : thrown
    }
  }
  return { problem, touch, send, form: { isDisabled: !isDirty, isUnsaved: isTouched && isDirty } }
}
