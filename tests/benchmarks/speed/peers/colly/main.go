// Command colly crawls every page that can be reached from the seeds, with colly.
//
//	colly DIRECTORY SEEDS [REDIS]
//
// DIRECTORY gets pages.txt, the URL of each answer. Without REDIS, the URL of a server, colly keeps
// everything in memory, as it comes; with it, the URLs to visit and those visited are there.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/queue"
)

const atOnce = 16

func main() {
	seeds, err := os.ReadFile(os.Args[2])
	check(err)
	file, err := os.Create(filepath.Join(os.Args[1], "pages.txt"))
	check(err)
	pages := bufio.NewWriter(file)
	var mutex sync.Mutex

	collector := colly.NewCollector()
	collector.IgnoreRobotsTxt = false
	collector.OnResponse(func(response *colly.Response) {
		mutex.Lock()
		defer mutex.Unlock()
		fmt.Fprintln(pages, response.Request.URL)
	})

	if len(os.Args) > 3 {
		inRedis(collector, os.Args[3], strings.Fields(string(seeds)))
	} else {
		inMemory(collector, strings.Fields(string(seeds)))
	}
	check(pages.Flush())
	fmt.Println("end")
	// What it has used is read before it is gone.
	fmt.Scanln()
}

func inMemory(collector *colly.Collector, seeds []string) {
	collector.Async = true
	check(collector.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: atOnce}))
	collector.OnHTML("a[href]", func(link *colly.HTMLElement) {
		// An error says that it was visited, or may not be.
		_ = link.Request.Visit(page(link))
	})
	fmt.Println("begin")
	for _, seed := range seeds {
		check(collector.Visit(seed))
	}
	collector.Wait()
}

func inRedis(collector *colly.Collector, url string, seeds []string) {
	storage := newStorage(url)
	check(collector.SetStorage(storage))
	waiting, err := queue.New(atOnce, storage)
	check(err)
	collector.OnHTML("a[href]", func(link *colly.HTMLElement) {
		target := link.Request.AbsoluteURL(page(link))
		// Asking first is cheaper than to queue a request that is dropped when its turn comes.
		if visited, err := collector.HasVisited(target); err == nil && !visited {
			check(waiting.AddURL(target))
		}
	})
	fmt.Println("begin")
	for _, seed := range seeds {
		check(waiting.AddURL(seed))
	}
	check(waiting.Run(collector))
}

// page returns where a link leads without its fragment: to colly each fragment is a page of its own.
func page(link *colly.HTMLElement) string {
	target, _, _ := strings.Cut(link.Attr("href"), "#")
	return target
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
