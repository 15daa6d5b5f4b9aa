import { useEffect } from 'preact/hooks'
import { isIn } from '#dashboard/session'
import { every } from '#dashboard/world'

/** Does it again and again while the page is seen and somebody is in; nothing where there is nothing to do. */
export function useRepeated(run: (() => void) | undefined, everyMs: number): void {
  useEffect(() => {
    if (!run) return undefined
    return every(everyMs, () => {
      if (!document.hidden && isIn()) run()
    })
  }, [run, everyMs])
}
