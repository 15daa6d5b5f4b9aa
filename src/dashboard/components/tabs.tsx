import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

interface Tab {
  readonly id: string
  readonly title: ComponentChildren
}

export interface TabsProps {
  readonly label: string
  readonly tabs: readonly Tab[]
  readonly selected: string
  readonly onSelect: (id: string) => void
  readonly children: ComponentChildren
}

/** The Tab key reaches only the selected tab; arrow keys, Home and End select another. https://www.w3.org/WAI/ARIA/apg/patterns/tabs/ */
export function Tabs({ label, tabs, selected, onSelect, children }: TabsProps) {
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  // On a narrow screen the tabs scroll sideways.
  useEffect(() => {
    const tab = list.current?.querySelector(`#${CSS.escape(`${id}-${selected}`)}`)
    tab?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [id, selected])
  const onKeyDown = (event: KeyboardEvent) => {
    const at = tabs.findIndex((tab) => tab.id === selected)
    const to = steps[event.key]?.(at, tabs.length)
    const tab = to === undefined ? undefined : tabs[(to + tabs.length) % tabs.length]
    if (!tab) return
    event.preventDefault()
    onSelect(tab.id)
    list.current?.querySelector<HTMLElement>(`#${CSS.escape(`${id}-${tab.id}`)}`)?.focus()
  }
  return (
    <div class="tabs">
      <div ref={list} role="tablist" aria-label={label} onKeyDown={onKeyDown}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            id={`${id}-${tab.id}`}
            aria-selected={tab.id === selected}
            aria-controls={`${id}-panel`}
            tabIndex={tab.id === selected ? 0 : -1}
            onClick={() => onSelect(tab.id)}
          >
            {tab.title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${selected}`}>
        {children}
      </div>
    </div>
  )
}

const steps: Readonly<Record<string, (at: number, count: number) => number>> = {
  ArrowRight: (at) => at + 1,
  ArrowLeft: (at) => at - 1,
  Home: () => 0,
  End: (_, count) => count - 1,
}
